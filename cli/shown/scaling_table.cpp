#include "cli/shown/scaling_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/units_text.hpp"

namespace sluice::cli {
namespace {

std::string points_table(const std::vector<planner::HostsPoint>& points, std::int64_t seq_len) {
  std::string text = "  hosts  GPUs   tokens a step        step   tokens/s  efficiency  busiest\n";
  for (const planner::HostsPoint& each : points) {
    text +=
        fmt::format("  {:>5} {:>5} {:>15}", each.hosts, each.devices, each.batch_size * seq_len);
    if (!each.step) {
      text += "           -  these hosts cannot share such steps, or do not hold the run\n";
      continue;
    }
    text += fmt::format(" {:>11} {:>10.0f} {:>9.0f} %  {} {:.0f} %\n",
                        planner::format_seconds(to_seconds(*each.step)), each.tokens_per_s,
                        100 * each.efficiency, each.limit, 100 * each.limit_share);
  }
  return text;
}

std::string tokens_text(const std::optional<std::int64_t>& tokens, std::int64_t most) {
  return tokens ? fmt::format("from {} tokens a step on", *tokens)
                : fmt::format("at no number of tokens up to {} a step", most);
}

std::string nic_text(const planner::NicPoint* nic) {
  if (nic == nullptr) return "none of these";
  return fmt::format("{} ({:.2f} times one host)", nic->nic, nic->speed);
}

}  // namespace

bool compares_hosts(const planner::HostsScaling& scaling) {
  const auto is_step_of_several = [](const planner::HostsPoint& each) {
    return each.hosts > 1 && each.step.has_value();
  };
  return std::ranges::any_of(scaling.strong, is_step_of_several) ||
         std::ranges::any_of(scaling.weak, is_step_of_several);
}

std::string scaling_table(const planner::HostsScaling& scaling) {
  const std::int64_t hosts = scaling.hosts;
  std::string text =
      fmt::format("scaling      hosts of {}, joined by {}\n", scaling.machine, scaling.nic);
  text += "strong, the run's batch on all hosts\n" + points_table(scaling.strong, scaling.seq_len);
  text += "weak, the run's batch for each host\n" + points_table(scaling.weak, scaling.seq_len);
  if (scaling.most_tried == 0) return text;
  if (!compares_hosts(scaling)) {
    return text + "pays         cannot be said: see why several hosts have no step here\n";
  }
  text += fmt::format("pays         {} hosts do more than one {}\n", hosts,
                      tokens_text(scaling.pays_from, scaling.most_tried));
  text += fmt::format("scales       {} hosts do {:.1f} times one {}\n", hosts,
                      0.9 * static_cast<double>(hosts),
                      tokens_text(scaling.scales_from, scaling.most_tried));
  if (scaling.nics.empty()) return text;
  text += fmt::format("NICs         with the run's batch {} hosts do", hosts);
  for (const planner::NicPoint& each : scaling.nics) {
    text += fmt::format("{} {:.2f} by {}", &each == scaling.nics.data() ? "" : ",", each.speed,
                        each.nic);
  }
  text += " times what one does\n";
  text += fmt::format("NIC          to be faster than one host: {}; for {:.1f} times one: {}\n",
                      nic_text(nic_that_does(scaling, 1.0 / static_cast<double>(hosts))),
                      0.9 * static_cast<double>(hosts), nic_text(nic_that_does(scaling, 0.9)));
  return text;
}

}  // namespace sluice::cli
