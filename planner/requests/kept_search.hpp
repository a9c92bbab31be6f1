// Plans that advice found, kept in the user's store so that the next advice need not search again.
#pragma once

#include <variant>

#include "planner/requests/choose_plan.hpp"

namespace sluice::planner {

/// choose_plan(), but a plan that an equal search found before is read from the store's folder
/// advice/ and predicted again, and a plan that is found is written there. Searches are equal where
/// job, profile, costs, capacities, residency, pins and effort are. A search that its deadline may
/// have cut short is not written. Where the store cannot be written to, nothing is kept.
[[nodiscard]] std::variant<ChosenPlan, Infeasible> choose_kept_plan(const Request& request,
                                                                    const PlanOptions& options);

}  // namespace sluice::planner
