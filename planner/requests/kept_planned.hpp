// Outcomes of searches for a run's plan, kept in the user's store so that no verb makes the same
// search twice.
#pragma once

#include <optional>
#include <string>

#include "planner/requests/request.hpp"
#include "planner/search/outcome.hpp"

namespace sluice::planner {

/// Version and commit of this program; none where it was built from changed sources, which no name
/// tells apart, so that nothing is to be kept.
[[nodiscard]] std::optional<std::string> built_program();

/// What an equal search of the same program found before and keep_planned() wrote to the store's
/// folder advice/: the plan, predicted anew, with the search's numbers. None where there is none,
/// or where the prediction differs from the one that was kept. Searches are equal where
/// search_key() is. A search that time bounds is never kept and never answered so, since equal ones
/// may differ.
[[nodiscard]] std::optional<Planned> kept_planned(const Request& request);

/// Writes what the request's search found. Nothing is kept where the store cannot be written to.
void keep_planned(const Request& request, const Planned& found);

}  // namespace sluice::planner
