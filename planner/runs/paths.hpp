// The dotted paths of a run's settings.
#pragma once

#include <string>
#include <vector>

namespace sluice::planner {

/// Every path that set_path knows besides machine.NAME and plan.NAME, in RUN.yaml's order.
[[nodiscard]] std::vector<std::string> run_paths();

}  // namespace sluice::planner
