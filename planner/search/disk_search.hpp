// Plans whose optimizer state, waiting gradients and weights lie partly on the disk: the fewest
// units with which host memory is enough, or those that the user named.
#pragma once

#include <optional>
#include <variant>

#include "planner/effort/search_settings.hpp"
#include "planner/search/fitting_plans.hpp"
#include "planner/search/outcome.hpp"

namespace sluice::planner {

/// Whether the pins put state, gradients or weights on the disk.
[[nodiscard]] bool pins_use_disk(const Predictor& predictor, const SearchSettings& settings);

/// The fastest plan found that keeps something on the disk. `in_memory` is what plans without the
/// disk lack; null where pins put units there. The search runs as if the host had what the disk
/// takes off it; of its plan the state of the fewest units goes to the disk, the last blocks or
/// evenly spread ones, whatever the simulator finds faster; then gradients, once all state is
/// there, then weights. Where sums of several rounds would cross the disk, as few rounds as fit are
/// tried first.
[[nodiscard]] std::variant<Planned, Infeasible> search_with_disk(const Predictor& predictor,
                                                                 const SearchSettings& settings,
                                                                 const Infeasible* in_memory);

/// A plan with as much on the disk as the host lacks (`host_short`): the first that fits, of the
/// fewest rounds; none where none was found.
[[nodiscard]] std::optional<TimedPlan> fitting_on_disk(const Predictor& predictor, Bytes host_short,
                                                       const SearchSettings& settings);

}  // namespace sluice::planner
