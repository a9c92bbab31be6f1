// Changes with which a request fits.
#pragma once

#include <string>
#include <vector>

#include "planner/effort/search_settings.hpp"
#include "planner/policies/given_plan.hpp"
#include "planner/search/search.hpp"

namespace sluice::planner {

/// Up to three remedies, smallest first: smaller loss_chunk, smaller micro_batch, of single
/// sequences smaller mlp_chunk, state on the disk, more memory of the tier (exactly what the
/// plan of least memory lacks, in whole MiB), gradients as bf16, shorter seq_len. Each has a plan
/// that fits, whose step a search may shorten. It uses the settings' pins, stop and until: once it
/// is late only more memory is tried, and that only where there is no remedy yet.
[[nodiscard]] std::vector<Remedy> remedies_for(const Predictor& predictor,
                                               const Infeasible& shortage,
                                               const Calibration& calibration,
                                               const SearchSettings& settings);

/// A machine with more of what `memory` lacks on the one given, in whole MiB.
struct MoreMemory {
  ResolvedMachine machine;
  std::string what, setting;  ///< The remedy's texts, empty where nothing lacks.
};
[[nodiscard]] MoreMemory more_memory(const ResolvedMachine& machine, const Memory& memory);

/// Up to three remedies where a given plan needs more than there is (`memory`): what a search finds
/// without it, or what that lacks; and the memory that it needs.
[[nodiscard]] std::vector<Remedy> remedies_for_given(const GivenPlan& given, const Memory& memory,
                                                     const Predictor& predictor,
                                                     const Calibration& calibration,
                                                     const SearchSettings& settings);

/// search(), with remedies where nothing fits.
[[nodiscard]] std::variant<Planned, Infeasible> search_or_remedy(const Predictor& predictor,
                                                                 const Calibration& calibration,
                                                                 const SearchSettings& settings);

}  // namespace sluice::planner
