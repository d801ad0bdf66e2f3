// comparison.html, in the look of report.html.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "report/comparison.hpp"
#include "report/html.hpp"

namespace ridgeline::report {

namespace {

/// A folder's name as part of a relative address.
std::string address_of(const std::string& name) {
  std::string address;
  for (const char letter : name) {
    const bool is_plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                          (letter >= '0' && letter <= '9') || letter == '-' || letter == '.' || letter == '_';
    address += is_plain ? std::string(1, letter) : fmt::format("%{:02X}", static_cast<unsigned char>(letter));
  }
  return address;
}

std::string fact(const ComparedRun& run, const std::string& name) {
  const auto found = run.facts.find(name);
  return found == run.facts.end() ? "" : found->second;
}

/// Those of the facts that all runs have in common.
Facts common_facts(const std::vector<ComparedRun>& runs) {
  Facts common = runs.front().facts;
  for (const ComparedRun& run : runs)
    for (auto own = common.begin(); own != common.end();)
      own = fact(run, own->first) == own->second ? std::next(own) : common.erase(own);
  for (const char* name : {"model", "parameters", "duration", "date"}) common.erase(name);  // in a table, or of a run
  return common;
}

std::string runs_table(const std::vector<ComparedRun>& runs) {
  std::string html =
      "<div class=\"wide\"><table>\n<thead><tr><th>deck</th><th "
      "style=\"text-align:left\">model</th><th>parameters</th><th>steps</th>"
      "<th>training</th><th>steps a second</th><th>whole run</th></tr></thead>\n<tbody>\n";
  for (const ComparedRun& run : runs)
    html += fmt::format(
        "<tr><td class=\"name\" style=\"min-width:8rem\"><a href=\"{}/report.html\">{}</a></td>"
        "<td class=\"name\" "
        "style=\"min-width:16rem;text-align:left\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>"
        "<td>{}</td></tr>\n",
        address_of(run.name), escaped(run.name), escaped(fact(run, "model")), escaped(fact(run, "parameters")),
        run.steps(), duration(run.seconds()), short_number(run.steps_per_second()), escaped(fact(run, "duration")));
  return html +
         "</tbody>\n</table></div>\n<p class=\"small\">Training: the steps alone. Whole run: with set-up, evaluation "
         "and checkpoints. Each deck leads to the report of its run.</p>\n";
}

constexpr std::array<double Metrics::*, 2> shown_metrics{&Metrics::mse, &Metrics::relative_l2};

/// The least of a figure of all runs that have it; NaN where there are not two to tell apart.
double best_of(const std::vector<ComparedRun>& runs, const std::string& set, double Metrics::*member) {
  std::vector<double> values;
  for (const ComparedRun& run : runs)
    if (const SetMetrics* metrics = run.find_set(set); metrics != nullptr && std::isfinite(metrics->trained.*member))
      values.push_back(metrics->trained.*member);
  return values.size() < 2 ? std::nan("") : *std::min_element(values.begin(), values.end());
}

std::string metrics_table(const std::vector<ComparedRun>& runs) {
  const std::vector<std::string> sets = sets_of(runs);
  std::string html = "<div class=\"wide\"><table>\n<thead>\n<tr><th></th>";
  std::string below = "<tr><th>deck</th>";
  for (const std::string& set : sets) {
    html += fmt::format(R"(<th class="over" colspan="2">{}</th>)", escaped(set));
    below += "<th>MSE</th><th>rel. L<sub>2</sub></th>";
  }
  html += "</tr>\n" + below + "</tr>\n</thead>\n<tbody>\n";
  for (const ComparedRun& run : runs) {
    html += fmt::format(R"(<tr><td class="name" style="min-width:8rem">{}</td>)", escaped(run.name));
    for (const std::string& name : sets)
      for (const auto member : shown_metrics) {
        const SetMetrics* set = run.find_set(name);
        const std::string text = set == nullptr ? "" : short_number(set->trained.*member);
        const bool is_best = set != nullptr && set->trained.*member == best_of(runs, name, member);
        html += is_best ? "<td><strong>" + text + "</strong></td>" : "<td>" + text + "</td>";
      }
    html += "</tr>\n";
  }
  return html +
         "</tbody>\n</table></div>\n<p class=\"small\">The best of each column is bold. MSE: mean squared error over "
         "all points. Relative L<sub>2</sub>: the mean over functions of ‖prediction − truth‖ / ‖truth‖. Empty: the "
         "deck has no such set. comparison.csv has the errors over hidden and shown points as well.</p>\n";
}

std::string differences_table(const std::vector<ComparedRun>& runs) {
  const std::vector<DeckDifference> differences = deck_differences(runs);
  if (differences.empty()) return "<p>The decks do not differ.</p>\n";
  std::string html = "<div class=\"wide\"><table>\n<thead><tr><th>key</th>";
  for (const ComparedRun& run : runs) html += fmt::format("<th class=\"name\">{}</th>", escaped(run.name));
  html += "</tr></thead>\n<tbody>\n";
  for (const DeckDifference& difference : differences) {
    html += fmt::format("<tr><td>[{}] {}</td>", escaped(difference.section), escaped(difference.key));
    for (const auto& value : difference.values)
      html += fmt::format("<td class=\"name\">{}</td>", value ? escaped(*value) : "–");
    html += "</tr>\n";
  }
  return html +
         "</tbody>\n</table></div>\n<p class=\"small\">Keys of the resolved decks, every default filled in, that are "
         "not the same in all. “–”: the deck has no such key.</p>\n";
}

}  // namespace

std::string comparison_html(const std::string& title, const std::vector<ComparedRun>& runs, const Picture& picture,
                            const std::string& notice) {
  const std::string count = runs.size() == 1 ? "a Ridgeline run" : fmt::format("{} Ridgeline runs", runs.size());
  return page_head(title, "Comparison of " + count) + notice_html(notice) + facts_html(common_facts(runs)) +
         "<h2>The runs</h2>\n" + runs_table(runs) + "<h2>Training and errors</h2>\n" + figure_html(picture) +
         metrics_table(runs) + "<h2>What differs between the decks</h2>\n" + differences_table(runs) +
         "</body>\n</html>\n";
}

}  // namespace ridgeline::report
