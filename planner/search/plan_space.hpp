// Plans that the search adds to those of the guided search: structures, variations, those of
// least memory.
#pragma once

#include <vector>

#include "planner/plans/pins.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/search/candidate.hpp"

namespace sluice::planner {

/// Valid plans with usual buffers and the pins, each once: every combination of a number of rounds,
/// where gradients wait, what stays on the device (weights or all state of as many blocks as fit,
/// or staged state of embedding, head and the first blocks) and what blocks keep: the same records
/// for all, on the device or on the host, or larger ones for as many of the last blocks as may fit.
[[nodiscard]] std::vector<Candidate> structures(const PlanEstimator& estimator,
                                                const Predictor& predictor, const Pins& pins);

/// Valid plans with the pins that differ from `base` in buffer counts, prefetch depth, copy chunk,
/// threads, time of updates or number of staged units.
[[nodiscard]] std::vector<Candidate> variations(const Plan& base, const PlanEstimator& estimator,
                                                const Predictor& predictor, const Pins& pins);

/// Plans of which one takes about the least device memory and one about the least host memory: only
/// inputs kept, hardly any buffers, mostly one micro-batch a round.
[[nodiscard]] std::vector<Candidate> plans_of_least_memory(const PlanEstimator& estimator,
                                                           const Predictor& predictor,
                                                           const Pins& pins);

/// Decimal logarithm of the number of plans of the predictor's job on its machine, as
/// docs/design/plan-space.md counts them.
[[nodiscard]] double space_log10(const Predictor& predictor);

}  // namespace sluice::planner
