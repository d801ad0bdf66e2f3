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

/// Those of the runs' metrics that the page shows: errors over hidden and shown points are in comparison.csv alone.
std::vector<MetricKind> shown_metrics(const std::vector<ComparedRun>& runs) {
  std::vector<MetricKind> kinds = kinds_of(runs);
  const auto is_of_some_points = [](const MetricKind& kind) {
    return std::string(kind.name).rfind("mse_", 0) == 0 || std::string(kind.name) == "cross_entropy";
  };
  kinds.erase(std::remove_if(kinds.begin(), kinds.end(), is_of_some_points), kinds.end());
  return kinds;
}

/// "MSE" is enough where there is no room.
std::string heading_of(const MetricKind& kind) {
  const std::string name = kind.name;
  return name == "mse" ? "MSE" : name == "relative_l2" ? "rel. L<sub>2</sub>" : kind.label;
}

/// The best figure of all runs that have it; NaN where there are not two to tell apart.
double best_of(const std::vector<ComparedRun>& runs, const std::string& set, const MetricKind& kind) {
  std::vector<double> values;
  for (const ComparedRun& run : runs)
    if (const SetMetrics* metrics = run.find_set(set); metrics != nullptr)
      if (const double value = metrics->trained[kind.name]; std::isfinite(value)) values.push_back(value);
  if (values.size() < 2) return std::nan("");
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return kind.larger_is_better ? *most : *least;
}

std::string metrics_table(const std::vector<ComparedRun>& runs) {
  const std::vector<std::string> sets = sets_of(runs);
  const std::vector<MetricKind> kinds = shown_metrics(runs);
  std::string html = "<div class=\"wide\"><table>\n<thead>\n<tr><th></th>";
  std::string below = "<tr><th>deck</th>", explanations;
  for (const std::string& set : sets) {
    html += fmt::format(R"(<th class="over" colspan="{}">{}</th>)", kinds.size(), escaped(set));
    for (const MetricKind& kind : kinds) below += "<th>" + heading_of(kind) + "</th>";
  }
  for (const MetricKind& kind : kinds) explanations += std::string(" ") + kind.explanation;
  html += "</tr>\n" + below + "</tr>\n</thead>\n<tbody>\n";
  for (const ComparedRun& run : runs) {
    html += fmt::format(R"(<tr><td class="name" style="min-width:8rem">{}</td>)", escaped(run.name));
    for (const std::string& name : sets)
      for (const MetricKind& kind : kinds) {
        const SetMetrics* set = run.find_set(name);
        const bool has = set != nullptr && set->trained.has(kind.name);
        const std::string text = has ? short_number(set->trained[kind.name]) : "";
        const bool is_best = has && set->trained[kind.name] == best_of(runs, name, kind);
        html += is_best ? "<td><strong>" + text + "</strong></td>" : "<td>" + text + "</td>";
      }
    html += "</tr>\n";
  }
  return html + "</tbody>\n</table></div>\n<p class=\"small\">The best of each column is bold." + explanations +
         " Empty: the deck has no such set, or its task no such figure. comparison.csv has every metric.</p>\n";
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
