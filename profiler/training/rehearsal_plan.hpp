// The plan that a rehearsal executes, and the host memory that stands for what it needs.
#pragma once

#include <variant>

#include "planner/layout/host_window.hpp"
#include "planner/requests/run_planning.hpp"
#include "profiler/training/choose_plan.hpp"

namespace sluice::profiler {

/// The one part of host memory in an Infeasible of a host that does not even hold it.
inline constexpr char kInFlight[] = "in flight";

struct RehearsalPlan {
  ChosenPlan chosen;           ///< Its memory's host capacity is what this host may use.
  planner::HostWindow window;  ///< As large as that allows.
  Bytes in_flight{0};          ///< The smallest window.
};

/// The run's plan where it fits; else that of a machine like it with all the host memory it wants;
/// a plan or policy that the run states as it is. Infeasible where device memory does not do, or
/// host memory does not hold what is in flight.
[[nodiscard]] std::variant<RehearsalPlan, planner::Infeasible> plan_rehearsal(
    const planner::RunConfig& config, const planner::RunPlanning& as_it_is);

}  // namespace sluice::profiler
