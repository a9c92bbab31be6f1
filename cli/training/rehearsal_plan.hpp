// The plan that a rehearsal executes, and the window of host memory that it uses.
#pragma once

#include <string>
#include <variant>

#include "cli/training/choose_plan.hpp"
#include "planner/layout/host_window.hpp"
#include "planner/requests/run_planning.hpp"

namespace sluice::cli {

struct RehearsalPlan {
  ChosenPlan chosen;           ///< The plan, whose host capacity is what this host allows.
  planner::HostWindow window;  ///< The window, as large as that capacity allows.
  Bytes in_flight{0};          ///< Size of the smallest possible window.
};

/// Plans a rehearsal: with the run's own plan if it fits; else with the plan for an identical
/// machine that has as much host memory as needed. A plan or policy that the run states is used as
/// it is. Infeasible if device memory is too small, or host memory cannot hold what is in flight.
[[nodiscard]] std::variant<RehearsalPlan, planner::Infeasible> plan_rehearsal(
    const planner::RunConfig& config, const planner::RunPlanning& as_it_is);

/// Text for an Infeasible of plan_rehearsal.
[[nodiscard]] std::string too_small_table(const planner::Infeasible& lack);

}  // namespace sluice::cli
