// Plans whose optimizer state, waiting gradients and weights lie partly on the disk: the fewest
// units with which host memory is enough, or those that the user named.
#pragma once

#include <optional>

#include "planner/search/fitting_plans.hpp"
#include "planner/search/search.hpp"

namespace sluice::planner {

/// The fastest plan found that uses no disk (planner/search/search.cpp); `search` adds what the
/// disk can hold: where no such plan fits in host memory and the machine lends its disk for state,
/// or where pins put state there. The search then runs as if the host had what the disk takes off
/// it; of its plan the state of the fewest units goes to the disk, the last blocks or evenly spread
/// ones, whatever the simulator finds faster; then gradients, once all state is there, then
/// weights. Where sums of several rounds would cross the disk, as few rounds as fit are tried
/// first.
[[nodiscard]] std::variant<Planned, Infeasible> search_in_memory(const Predictor& predictor,
                                                                 const SearchSettings& settings);

/// A plan with as much on the disk as the host lacks (`host_short`): the first that fits, of the
/// fewest rounds; none where none was found.
[[nodiscard]] std::optional<FittingPlan> fitting_on_disk(const Predictor& predictor,
                                                         Bytes host_short,
                                                         const SearchSettings& settings);

}  // namespace sluice::planner
