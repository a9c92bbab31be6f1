// Plans that the search adds to those of the guided search: variations of one, and the leanest.
#pragma once

#include <vector>

#include "planner/plans/pins.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/search/candidate.hpp"

namespace sluice::planner {

/// Variations of `base` in buffer counts, prefetch depth, copy chunk, threads, time of updates and
/// staged units.
[[nodiscard]] std::vector<Candidate> variations(const Plan& base, const PlanEstimator& estimator,
                                                const Predictor& predictor, const Pins& pins);

/// Plans of which one takes about the least of a tier: one buffer of each kind, one micro-batch a
/// round, only inputs kept.
[[nodiscard]] std::vector<Candidate> leanest(const PlanEstimator& estimator,
                                             const Predictor& predictor, const Pins& pins);

/// log10 of the number of plans of this job on this machine, as docs/design/plan-space.md counts
/// them.
[[nodiscard]] double space_log10(const Predictor& predictor);

}  // namespace sluice::planner
