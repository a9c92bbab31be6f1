// The plan that a rehearsal executes, and the host memory that stands for what it needs.
#pragma once

#include <string>
#include <variant>

#include "planner/layout/host_window.hpp"
#include "planner/requests/choose_plan.hpp"
#include "planner/requests/request.hpp"

namespace sluice::cli {

struct RehearsalPlan {
  planner::ChosenPlan chosen;  ///< Its memory's host capacity is what this host may use.
  planner::HostWindow window;  ///< As large as that allows.
  Bytes in_flight{0};          ///< The smallest window.
};

/// The run's plan where it fits; else that of a machine like it with all the host memory it wants;
/// a plan or policy that the run states as it is. Infeasible where device memory does not do, or
/// host memory does not hold what is in flight.
[[nodiscard]] std::variant<RehearsalPlan, planner::Infeasible> plan_rehearsal(
    const planner::Request& as_it_is);

/// What is said of an Infeasible of plan_rehearsal.
[[nodiscard]] std::string too_small_table(const planner::Infeasible& lack);

}  // namespace sluice::cli
