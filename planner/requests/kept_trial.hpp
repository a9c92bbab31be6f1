// What advice found for machines, kept in the user's store so that the same advice is at hand.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "planner/predictions/timed_plan.hpp"
#include "planner/requests/request.hpp"
#include "planner/search/outcome.hpp"

namespace sluice::planner {

/// Outcome of trying plans for a job on one machine, and the shortage that it showed.
struct Trial {
  /// The best plan with its step and memory peaks, or what lacks.
  std::variant<TimedPlan, Infeasible> found;
  bool is_searched = false;  ///< Whether the plan comes from a search, and not from known plans.
  /// What plans without the disk lack, where a search showed it.
  std::optional<Infeasible> shortage = {};
};

/// The trial that keep_trial() wrote for an equal request after the same trials before it, of which
/// `before` is a hash; none where there is none, or where another version wrote it.
[[nodiscard]] std::optional<Trial> kept_trial(const Request& request, const std::string& before);

/// Writes the trial to the store's folder advice/, unless a deadline may have cut it short. Nothing
/// is kept where the store cannot be written to. Of memory, peaks and capacities are kept.
void keep_trial(const Request& request, const std::string& before, const Trial& trial);

}  // namespace sluice::planner
