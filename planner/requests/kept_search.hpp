// Plans that advice found, kept in the user's store so that the next advice need not search again.
#pragma once

#include <optional>
#include <string>

#include "planner/requests/request.hpp"

namespace sluice::planner {

/// Hash of all that a search of the request depends on.
[[nodiscard]] std::string search_key(const Request& request);

/// The plan that an equal search found before and keep_plan() wrote to the store's folder advice/;
/// none where there is none. Searches are equal where job, profile, costs, capacities, residency,
/// pins and effort are, so that what is kept does not change what is found, whatever ran before.
[[nodiscard]] std::optional<Plan> kept_plan(const Request& request);

/// Writes the plan that the request's search found, unless its deadline may have cut it short.
/// Nothing is kept where the store cannot be written to.
void keep_plan(const Request& request, const Prediction& found);

}  // namespace sluice::planner
