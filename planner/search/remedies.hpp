// Changes with which a request fits.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "planner/effort/search_settings.hpp"
#include "planner/policies/given_plan.hpp"
#include "planner/search/search.hpp"

namespace sluice::planner {

/// A machine with enough of the memory that was short.
struct MoreMemory {
  ResolvedMachine machine;
  /// The change in words and as flags (Remedy::what, setting); empty where nothing was short.
  std::string what, setting;
};
/// `machine` with as much of each tier as `memory` takes of it, where that is more than it
/// has, in whole GiB (in whole MiB below 16 GiB).
[[nodiscard]] MoreMemory more_memory(const ResolvedMachine& machine, const Memory& memory);

/// How a machine gets the memory that a plan lacks: more_memory, or in parts that can be bought.
using MemoryOrder = std::function<MoreMemory(const ResolvedMachine&, const Memory&)>;

/// Up to three changes with which a plan fits where nothing does, in the order in which they are
/// tried. Where the device is short (`shortage`): smaller loss_chunk, smaller micro_batch, fewer
/// groups, smaller mlp_chunk (with single sequences), more memory, shorter seq_len. Where the host
/// is: state on the disk, more memory, gradients as bf16. "More memory" is what `order` gives for
/// the plan nearest to fitting. A remedy states the step of the plan that was found for it, which a
/// search may shorten. Of `settings` pins, stop and until count; once `until` has passed only more
/// memory is tried, and only where there is no remedy yet.
[[nodiscard]] std::vector<Remedy> remedies_for(const Predictor& predictor,
                                               const Infeasible& shortage,
                                               const Calibration& calibration,
                                               const SearchSettings& settings,
                                               const MemoryOrder& order = more_memory);

/// Up to three remedies where the plan `given` takes more memory (`memory`) than there is: the plan
/// that a search finds without it, or else the remedies for that search; and the memory that it
/// needs.
[[nodiscard]] std::vector<Remedy> remedies_for_given(const GivenPlan& given, const Memory& memory,
                                                     const Predictor& predictor,
                                                     const Calibration& calibration,
                                                     const SearchSettings& settings,
                                                     const MemoryOrder& order = more_memory);

/// The result of search(), with remedies (remedies_for) where no plan fits.
[[nodiscard]] std::variant<Planned, Infeasible> search_or_remedy(
    const Predictor& predictor, const Calibration& calibration, const SearchSettings& settings,
    const MemoryOrder& order = more_memory);

}  // namespace sluice::planner
