// Choice of the plan that a rehearsal executes, and of the window of host memory that it uses.
#pragma once

#include <variant>

#include "planner/layout/host_window.hpp"
#include "planner/requests/choose_plan.hpp"
#include "planner/requests/request.hpp"

namespace sluice::profiler {

/// Name of the only entry of host memory in the Infeasible that plan_rehearsal() returns where the
/// host cannot hold even the bytes in flight, which are those of tasks under way.
inline constexpr char kInFlight[] = "in flight";

struct RehearsalPlan {
  /// The plan to rehearse; the host capacity in its predicted memory is what this host allows.
  planner::ChosenPlan chosen;
  /// Host memory in which the rehearsal's host addresses lie: as large as this host allows, and as
  /// is useful.
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
