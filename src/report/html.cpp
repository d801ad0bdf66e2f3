#include "report/html.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "config/text.hpp"
#include "report/kernel_section.hpp"

namespace ridgeline::report {

std::string escaped(const std::string& text) {
  const bool is_utf8 = find_invalid_utf8(text) == std::string_view::npos;
  std::string result;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    switch (letter) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      case '\r':
        break;
      default: {
        const bool is_control = (byte < 0x20 && letter != '\n' && letter != '\t') || byte == 0x7f;
        result += is_control || (byte >= 0x80 && !is_utf8) ? std::string("\xEF\xBF\xBD") : std::string(1, letter);
      }
    }
  }
  return result;
}

std::string base64(const std::string& bytes) {
  constexpr const char* alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t begin = 0; begin < bytes.size(); begin += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - begin);
    unsigned group = 0;
    for (std::size_t index = 0; index < 3; ++index) {
      group = group << 8U | (index < count ? static_cast<unsigned char>(bytes[begin + index]) : 0U);
    }
    for (std::size_t index = 0; index < 4; ++index) {
      text += index <= count ? alphabet[group >> (18 - 6 * index) & 63U] : '=';
    }
  }
  return text;
}

std::string short_number(double value) {
  if (std::isnan(value)) {
    return "–";
  }
  if (std::isinf(value)) {
    return value > 0 ? "∞" : "−∞";
  }
  if (std::abs(value) >= 99.95 && std::abs(value) < 1e6) {
    return fmt::format("{:.0f}", value);
  }
  std::string text = value == 0 ? "0" : fmt::format("{:#.3g}", value);
  text.erase(text.find_last_not_of('.') + 1);
  // 1.20e-05 for people: 1.2 × 10⁻⁵.
  const std::size_t exponent = text.find('e');
  if (exponent == std::string::npos) {
    return text;
  }
  return fmt::format("{}&thinsp;×&thinsp;10<sup>{}</sup>", text.substr(0, exponent),
                     std::stoi(text.substr(exponent + 1)));
}

std::string duration(double seconds) {
  if (!std::isfinite(seconds) || seconds >= 1e9) {
    return "–";
  }
  if (seconds < 100) {
    return fmt::format("{} s", short_number(seconds));
  }
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 3600) {
    return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  }
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

namespace {

constexpr const char* style_sheet = R"(
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.2rem 1.6rem 4rem; max-width: 68rem; background: #fff; color: #1b1b1b;
  font: 16px/1.5 Helvetica, Arial, "Liberation Sans", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .2rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.6rem 0 .7rem; padding-bottom: .25rem; border-bottom: 1px solid #ccc; }
h3 { font-size: 1.05rem; margin: 1.8rem 0 .3rem; overflow-wrap: anywhere; }
sub, sup { line-height: 0; }
p { margin: .4rem 0 .8rem; }
.subtitle, figcaption, .small { color: #555; font-size: .9rem; }
.notice { border-left: 4px solid #E69F00; background: #fdf6e3; padding: .6rem .9rem; margin: 1rem 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; margin: 1rem 0 0; font-size: .95rem; }
dt { color: #555; }
dd { margin: 0; overflow-wrap: anywhere; }
figure { margin: .8rem 0 1.2rem; break-inside: avoid; }
figure img { display: block; width: 100%; height: auto; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(11.5rem, 1fr)); gap: .8rem; margin: 1.4rem 0 0; padding: 0; list-style: none; }
.cards li { border: 1px solid #d5d5d5; border-radius: 6px; padding: .6rem .9rem; min-width: 0; }
.cards .name { font-weight: bold; overflow-wrap: anywhere; }
.cards .figure { font-size: 1.5rem; line-height: 1.3; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; margin: .6rem 0; }
th, td { padding: .28rem .7rem; text-align: right; white-space: nowrap; }
th { font-weight: 600; }
th:first-child, td:first-child { text-align: left; padding-left: .2rem; }
td.name { white-space: normal; overflow-wrap: anywhere; }
thead tr:last-child th { border-bottom: 1.5px solid #333; }
thead tr:first-child th { border-top: 1.5px solid #333; }
thead th.over { text-align: center; font-weight: 600; }
tbody tr:last-child td { border-bottom: 1.5px solid #333; }
tbody tr:nth-child(even) td { background: #f6f6f6; }
table.kernels { width: 100%; }
table.kernels td.name { min-width: 16.5rem; }
table.kernels td:nth-child(2), table.kernels th:nth-child(2) { text-align: left; }
table.kernels td:nth-child(2) { color: #555; }
table.kernels td.bar { width: 14%; min-width: 4rem; }
td.before { color: #666; }
th.name { white-space: normal; overflow-wrap: anywhere; min-width: 6rem; }
td.bar { width: 34%; min-width: 9rem; text-align: left; }
.bar span { display: block; height: .75rem; background: #0072B2; min-width: 1px;
  -webkit-print-color-adjust: exact; print-color-adjust: exact; }
.bar span.inner { background: #9DC3DE; }
pre { background: #f6f6f6; border: 1px solid #ddd; border-radius: 4px; padding: .8rem 1rem; overflow-x: auto;
  font: .85rem/1.45 "DejaVu Sans Mono", Menlo, Consolas, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
@media print { body { max-width: none; padding: 0; font-size: 10.5pt; } h2 { break-after: avoid; } }
)";

}  // namespace

std::string page_head(const std::string& title, const std::string& subtitle) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0} – Ridgeline</title>\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n"
      "<p class=\"subtitle\">{2}</p>\n",
      escaped(title), style_sheet, escaped(subtitle));
}

std::string notice_html(const std::string& notice) {
  return notice.empty() ? "" : fmt::format("<p class=\"notice\">{}</p>\n", escaped(notice));
}

std::string figure_html(const Picture& picture) {
  if (picture.svg.empty()) {
    return "";
  }
  return fmt::format(
      "<figure>\n<img alt=\"{0}\" src=\"data:image/svg+xml;base64,{1}\">\n<figcaption>{0}</figcaption>\n</figure>\n",
      escaped(picture.caption), base64(picture.svg));
}

std::string facts_html(const Facts& facts) {
  constexpr std::array<const char*, 10> first{"task",    "model", "parameters", "precision", "backend",
                                              "threads", "host",  "date",       "duration",  "version"};
  std::vector<std::string> order;
  for (const char* name : first) {
    if (facts.count(name) > 0) {
      order.emplace_back(name);
    }
  }
  for (const auto& fact : facts) {
    if (fact.first != "title" && std::find(order.begin(), order.end(), fact.first) == order.end()) {
      order.push_back(fact.first);
    }
  }
  std::string html;
  for (const std::string& name : order) {
    std::string label = name;
    std::replace(label.begin(), label.end(), '_', ' ');
    html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escaped(label), escaped(facts.at(name)));
  }
  return html.empty() ? "" : "<dl>\n" + html + "</dl>\n";
}

namespace {

std::string title_of_metric(const std::string& name) {
  const MetricKind* kind = find_metric(name);
  return kind != nullptr ? kind->title : name;
}

/// One figure of merit a set: the relative error where it is known.
std::string cards_html(const std::vector<SetSection>& sets) {
  constexpr std::size_t most_cards = 8;
  std::string html;
  for (std::size_t index = 0; index < std::min(sets.size(), most_cards); ++index) {
    const SetSection& set = sets[index];
    const std::string main = set.trained.empty() ? "mse" : set.trained.entries().front().first;
    const bool has_relative = !std::isnan(set.trained["relative_l2"]);
    const std::string shown = has_relative ? "relative_l2" : main;
    const double before = set.untrained[shown];
    html += fmt::format(
        "<li><div class=\"name\">{}</div><div class=\"figure\">{}</div>"
        "<div class=\"small\">{} after training{}</div></li>\n",
        escaped(set.name), short_number(set.trained[shown]),
        has_relative ? "relative L<sub>2</sub> error" : title_of_metric(shown),
        std::isnan(before) ? "" : fmt::format("<br>{} before", short_number(before)));
  }
  return html.empty() ? "" : "<ul class=\"cards\">\n" + html + "</ul>\n";
}

std::string metrics_table(const std::vector<SetSection>& sets) {
  std::vector<SetMetrics> metrics;
  for (const SetSection& set : sets) {
    metrics.push_back({set.name, set.untrained, set.trained});
  }
  const std::vector<MetricKind> columns = kinds_of(metrics);
  std::string html = "<div class=\"wide\"><table>\n<thead>\n<tr><th></th><th></th>";
  std::string below;
  std::string explanations;
  for (const MetricKind& column : columns) {
    html += fmt::format(R"(<th class="over" colspan="2">{}</th>)", column.heading);
    below += "<th>untrained</th><th>trained</th>";
    explanations +=
        column.explanation[0] == '\0' ? "" : std::string(explanations.empty() ? "" : " ") + column.explanation;
  }
  html += fmt::format("</tr>\n<tr><th>set</th><th>{}</th>{}</tr>\n</thead>\n<tbody>\n",
                      sets.front().is_of_images ? "images × pixels" : "functions × points", below);
  for (const SetSection& set : sets) {
    html += fmt::format("<tr><td class=\"name\">{}</td><td>{} × {}</td>", escaped(set.name), set.inputs.at(0),
                        set.inputs.at(1));
    for (const MetricKind& column : columns) {
      html += fmt::format("<td class=\"before\">{}</td><td>{}</td>", short_number(set.untrained[column.name]),
                          short_number(set.trained[column.name]));
    }
    html += "</tr>\n";
  }
  return html + "</tbody>\n</table></div>\n<p class=\"small\">" + explanations + "</p>\n";
}

std::string time_table(const std::vector<TimeNode>& nodes) {
  std::string html =
      "<details><summary>Every region</summary>\n<div "
      "class=\"wide\"><table>\n<thead><tr><th>region</th><th>time</th><th>share</th><th>calls</th>"
      "<th>time a call</th><th></th></tr></thead>\n<tbody>\n";
  for (const TimeNode& node : nodes) {
    const std::string a_call =
        node.calls > 0 ? fmt::format("{} ms", short_number(1e3 * node.seconds / static_cast<double>(node.calls))) : "";
    html += fmt::format(
        "<tr><td style=\"padding-left:{:.1f}rem\">{}</td><td>{}</td><td>{:.1f} %</td><td>{}</td><td>{}</td>"
        "<td class=\"bar\"><span{} style=\"width:{:.2f}%\"></span></td></tr>\n",
        0.2 + 1.2 * node.depth, escaped(node.label), duration(node.seconds), 100 * node.share,
        node.calls > 0 ? std::to_string(node.calls) : "", a_call, node.is_leaf ? "" : " class=\"inner\"",
        100 * node.share);
  }
  return html +
         "</tbody>\n</table></div>\n<p class=\"small\">The time of a region includes that of the regions indented "
         "below "
         "it; the dark bars add up to the whole.</p></details>\n";
}

std::string set_html(const SetSection& set) {
  const auto summary = [](const char* when, const Metrics& metrics) {
    if (metrics.empty() || std::isnan(metrics.entries().front().second)) {
      return std::string();
    }
    const std::string main = metrics.entries().front().first;
    const std::string text = fmt::format(" {}: {} {}", when, title_of_metric(main), short_number(metrics[main]));
    return main == "mse"
               ? text + fmt::format(", relative L<sub>2</sub> error {}.", short_number(metrics["relative_l2"]))
               : text + ".";
  };
  return fmt::format("<h3>{}</h3>\n<p class=\"small\">{} of {}.{}{}</p>\n{}", escaped(set.name),
                     count_text(set.inputs.at(0), set.is_of_images ? "image" : "function"),
                     count_text(set.inputs.at(1), set.is_of_images ? "pixel" : "point"),
                     summary("Trained", set.trained), summary("Untrained", set.untrained), figure_html(set.picture));
}

}  // namespace

std::string page_html(const Page& page) {
  std::string html = page_head(page.title, "Report of a Ridgeline run") + notice_html(page.notice);
  html += cards_html(page.sets) + facts_html(page.facts);
  if (!page.loss.svg.empty()) {
    html += "<h2>Training</h2>\n" + figure_html(page.loss);
  }
  if (!page.sets.empty()) {
    html += "<h2>Before and after training</h2>\n" + figure_html(page.metrics) + metrics_table(page.sets);
    if (!page.generated.svg.empty()) {
      html += "<h2>Made by the model</h2>\n" + figure_html(page.generated);
    }
    if (!page.biases.svg.empty()) {
      html += "<h2>What attention adds by distance</h2>\n" + figure_html(page.biases);
    }
    html += "<h2>Predictions against truth</h2>\n";
    for (const SetSection& set : page.sets) {
      html += set_html(set);
    }
  }
  if (!page.nodes.empty()) {
    html += "<h2>Where the time went</h2>\n" + figure_html(page.time) + time_table(page.nodes);
  }
  html += kernel_section(page.kernels);
  if (!page.deck.empty()) {
    html += fmt::format(
        "<h2>The deck</h2>\n<p class=\"small\">As resolved, with every default: run it and get the same run.</p>\n"
        "<pre>{}</pre>\n",
        escaped(page.deck));
  }
  return html + "</body>\n</html>\n";
}

}  // namespace ridgeline::report
