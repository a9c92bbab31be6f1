// A run's steps on several numbers of hosts, as text.
#pragma once

#include <string>

#include "planner/explanation/hosts_scaling.hpp"

namespace sluice::cli {

/// Strong and weak scaling, from how many tokens several hosts pay, and which NICs would do.
[[nodiscard]] std::string scaling_table(const planner::HostsScaling& scaling);

/// Whether a step of several hosts is known, beside which one host's can be judged.
[[nodiscard]] bool compares_hosts(const planner::HostsScaling& scaling);

}  // namespace sluice::cli
