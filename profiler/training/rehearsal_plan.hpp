// Choice of the plan that a rehearsal executes, and of the window of host memory that it uses.
#pragma once

#include <variant>

#include "planner/layout/host_window.hpp"
#include "planner/requests/choose_plan.hpp"
#include "planner/requests/request.hpp"

namespace sluice::profiler {

/// Name of the host memory that an Infeasible lists where the host cannot hold even the bytes that
/// tasks have in flight at one time.
inline constexpr char kInFlight[] = "in flight";

struct RehearsalPlan {
  /// The plan; the host capacity in its memory is what this host allows.
  planner::ChosenPlan chosen;
  /// The window of host memory, as large as that capacity allows and useful.
  planner::HostWindow window;
  /// Size of the smallest possible window: what is in flight when every lane is at its largest
  /// task.
  Bytes in_flight{0};
};

/// Plans a rehearsal of the run `as_it_is`: with the run's own plan if it fits; else with the plan
/// for an identical machine that has as much host memory as needed. A plan or policy that the run
/// states is used as it is. Infeasible if device memory is too small, or host memory cannot hold
/// what is in flight.
[[nodiscard]] std::variant<RehearsalPlan, planner::Infeasible> plan_rehearsal(
    const planner::Request& as_it_is);

}  // namespace sluice::profiler
