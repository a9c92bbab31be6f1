// The dotted paths of a run's settings.
#pragma once

#include <string>
#include <vector>

namespace sluice::planner {

/// Every path that set_path() takes, in RUN.yaml's order, but for machine.NAME, plan.NAME,
/// policy.KEY, columns.NAME and term.NAME.
[[nodiscard]] std::vector<std::string> run_paths();

}  // namespace sluice::planner
