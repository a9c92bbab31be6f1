#include "cli/shown/scaling_page.hpp"

#include <fmt/format.h>

#include "cli/shown/scaling_table.hpp"
#include "planner/files/html_text.hpp"
#include "sim/units_text.hpp"

namespace sluice::cli {
namespace {

constexpr const char* kStyle =
    "body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:60em;padding:0 1em;"
    "color:#222}table{border-collapse:collapse}td,th{padding:.2em .7em;border-bottom:1px solid "
    "#ddd;text-align:left}td.n,th.n{text-align:right}svg{max-width:100%;height:auto}"
    ".s{overflow-x:auto}.small{color:#555;font-size:.9em}";

std::string rows_of(const std::vector<planner::HostsPoint>& points, std::int64_t seq_len) {
  std::string rows;
  for (const planner::HostsPoint& each : points) {
    rows += fmt::format(R"(<tr><td class="n">{}</td><td class="n">{}</td><td class="n">{}</td>)",
                        each.hosts, each.devices, each.batch_size * seq_len);
    if (!each.step) {
      rows += R"(<td colspan="4">these hosts cannot share such steps, or do not hold the run</td>)";
    } else {
      rows += fmt::format(
          R"(<td class="n">{}</td><td class="n">{:.0f}</td><td class="n">{:.0f} %</td>)"
          "<td>{} {:.0f} %</td>",
          planner::html_text(planner::format_seconds(to_seconds(*each.step))), each.tokens_per_s,
          100 * each.efficiency, planner::html_text(each.limit), 100 * each.limit_share);
    }
    rows += "</tr>";
  }
  return R"(<div class="s"><table><tr><th class="n">hosts</th><th class="n">GPUs</th>)"
         R"(<th class="n">tokens a step</th><th class="n">step</th><th class="n">tokens/s</th>)"
         R"(<th class="n">efficiency</th><th>busiest</th></tr>)" +
         rows + "</table></div>\n";
}

std::string from_tokens(const std::optional<std::int64_t>& tokens, std::int64_t most) {
  return tokens ? fmt::format("from {} tokens a step on", *tokens)
                : fmt::format("at no number of tokens up to {} a step", most);
}

std::string paying(const planner::HostsScaling& scaling) {
  if (scaling.most_tried == 0 || !compares_hosts(scaling)) return "";
  const auto times = static_cast<double>(scaling.hosts);
  return fmt::format("<p>{} hosts do more than one {}, and {:.1f} times as much {}.</p>\n",
                     scaling.hosts, from_tokens(scaling.pays_from, scaling.most_tried), 0.9 * times,
                     from_tokens(scaling.scales_from, scaling.most_tried));
}

std::string nics_of(const planner::HostsScaling& scaling) {
  if (scaling.nics.empty()) return "";
  std::string rows;
  for (const planner::NicPoint& each : scaling.nics) {
    rows +=
        fmt::format(R"(<tr><td>{}</td><td class="n">{}</td><td class="n">{:.2f}</td></tr>)",
                    planner::html_text(each.nic),
                    planner::html_text(planner::format_seconds(to_seconds(each.step))), each.speed);
  }
  return fmt::format(R"(<h2>Which NIC would do</h2><p>{} hosts with the run's batch:</p>)"
                     R"(<table><tr><th>NICs of a host</th><th class="n">step</th>)"
                     R"(<th class="n">times one host</th></tr>)",
                     scaling.hosts) +
         rows + "</table>\n";
}

}  // namespace

std::string scaling_page(const planner::HostsScaling& scaling, const std::string& question) {
  const std::string speeds = speed_plot(scaling), efficiencies = efficiency_plot(scaling);
  std::string page = fmt::format(
      R"(<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" )"
      R"(content="width=device-width"><title>Scaling over hosts</title><style>{}</style></head>)"
      "<body>\n<h1>Hosts of {}, joined by {}</h1>\n<p class=\"small\">{}</p>\n",
      kStyle, planner::html_text(scaling.machine), planner::html_text(scaling.nic),
      planner::html_text(question));
  page += paying(scaling);
  if (!speeds.empty()) page += "<h2>Tokens/s</h2>\n" + speeds + "\n";
  if (!efficiencies.empty()) page += "<h2>Efficiency</h2>\n" + efficiencies + "\n";
  page += "<h2>Strong: the run's batch on all hosts</h2>\n" +
          rows_of(scaling.strong, scaling.seq_len) +
          "<h2>Weak: the run's batch for each host</h2>\n" + rows_of(scaling.weak, scaling.seq_len);
  return page + nics_of(scaling) +
         "<p class=\"small\">Efficiency is what a host does of what it does in the first row. All "
         "rows compute the same groups, so the same bits. Steps are those of brief searches: "
         "sluice plan finds better ones.</p>\n</body></html>\n";
}

}  // namespace sluice::cli
