// What to change so that a request fits.
#pragma once

#include <vector>

#include "planner/search.hpp"

namespace sluice::planner {

/// Up to three remedies, smallest first: smaller loss_chunk, smaller micro_batch, of single
/// sequences smaller mlp_chunk, state on the disk, more memory of the tier (exactly what the
/// leanest plan lacks, in whole MiB), gradients as bf16, shorter seq_len. Each was searched and
/// fits. Where the settings say until when, none is looked for after that once there is one.
[[nodiscard]] std::vector<Remedy> remedies_for(const Predictor& predictor,
                                               const Infeasible& shortage,
                                               const Calibration& calibration,
                                               const SearchSettings& settings);

/// search(), with remedies where nothing fits.
[[nodiscard]] std::variant<Planned, Infeasible> search_or_remedy(const Predictor& predictor,
                                                                 const Calibration& calibration,
                                                                 const SearchSettings& settings);

}  // namespace sluice::planner
