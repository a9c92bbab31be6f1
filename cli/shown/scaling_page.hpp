// How steps scale with the number of hosts, on one page to read.
#pragma once

#include <string>

#include "planner/explanation/hosts_scaling.hpp"

namespace sluice::cli {

/// The scaling as one HTML page that loads nothing else: tokens/s and efficiency against hosts,
/// each with the run's batch on all hosts (strong) and for each host (weak), the numbers of both,
/// from how many tokens a step several hosts pay, and which NICs would do. `question`: the run in
/// words.
[[nodiscard]] std::string scaling_page(const planner::HostsScaling& scaling,
                                       const std::string& question);

/// SVG of tokens/s against hosts on logarithmic axes, beside the line of perfect scaling. Empty
/// where fewer than two points have a step.
[[nodiscard]] std::string speed_plot(const planner::HostsScaling& scaling);
/// SVG of efficiency, in percent of what a host does at the first point, against hosts on a
/// logarithmic axis. Empty where fewer than two points have a step.
[[nodiscard]] std::string efficiency_plot(const planner::HostsScaling& scaling);

}  // namespace sluice::cli
