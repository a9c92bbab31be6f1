// Plans whose optimizer state, waiting gradients and weights lie partly on the disk: the fewest
// units with which host memory is enough, or those that the user named.
#pragma once

#include <optional>
#include <variant>

#include "planner/effort/search_settings.hpp"
#include "planner/search/fitting_plans.hpp"
#include "planner/search/outcome.hpp"

namespace sluice::planner {

/// Whether the pins put the state of any unit on the disk, as they must where they put anything
/// there.
[[nodiscard]] bool pins_use_disk(const Predictor& predictor, const SearchSettings& settings);

/// The fastest plan found that keeps something on the disk, or what such plans lack. `in_memory` is
/// what plans without the disk lack; null where pins put units there. A search without the disk
/// runs as if the host had the memory that the disk frees. Then, of its plan, the state of the
/// fewest units with which the true host is enough goes to the disk, the last blocks' or that of
/// evenly spread ones, whichever the simulator finds faster; after all state gradients go there,
/// and then weights. Where every round would move gradients or weights over the disk, small numbers
/// of rounds are tried first.
[[nodiscard]] std::variant<Planned, Infeasible> search_with_disk(const Predictor& predictor,
                                                                 const SearchSettings& settings,
                                                                 const Infeasible* in_memory);

/// The same in half the time, for machines that are only compared: begins with plans of few rounds
/// and leaves those of more out where these fit.
[[nodiscard]] std::variant<Planned, Infeasible> compare_with_disk(const Predictor& predictor,
                                                                  const SearchSettings& settings,
                                                                  const Infeasible* in_memory);

/// The fastest plan that fits of those that keep on the disk what `plan`, a plan without it that
/// takes `host` bytes of the host's memory, takes too much, in a few placements. None where none
/// fits.
[[nodiscard]] std::optional<TimedPlan> moved_to_disk(const Predictor& predictor,
                                                     const SearchSettings& settings,
                                                     const Plan& plan, Bytes host);

/// A plan that fits with as much on the disk as the host lacks (`host_short` bytes): the first one
/// found, without a search. None where none was found.
[[nodiscard]] std::optional<TimedPlan> fitting_on_disk(const Predictor& predictor, Bytes host_short,
                                                       const SearchSettings& settings);

}  // namespace sluice::planner
