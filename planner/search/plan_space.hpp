// Plans that the search adds to those of the guided search: structures, variations, those of
// least memory.
#pragma once

#include <vector>

#include "planner/plans/pins.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/search/candidate.hpp"

namespace sluice::planner {

/// Every combination of rounds, what blocks keep and where, residency, and gradients' tier, with
/// usual buffers: uniform keep levels in HBM and on the host, mixtures that keep more for as many
/// of the last blocks as memory allows, weights or all state of as many blocks as fit in HBM, state
/// of embed, head and the first blocks staged. Only plans that are valid with the pins in, once
/// each.
[[nodiscard]] std::vector<Candidate> structures(const PlanEstimator& estimator,
                                                const Predictor& predictor, const Pins& pins);

/// Variations of `base` in buffer counts, prefetch depth, copy chunk, threads, time of updates and
/// staged units.
[[nodiscard]] std::vector<Candidate> variations(const Plan& base, const PlanEstimator& estimator,
                                                const Predictor& predictor, const Pins& pins);

/// Plans of which one takes about the least of a tier: one buffer of each kind, one micro-batch a
/// round, only inputs kept.
[[nodiscard]] std::vector<Candidate> plans_of_least_memory(const PlanEstimator& estimator,
                                                           const Predictor& predictor,
                                                           const Pins& pins);

/// log10 of the number of plans of this job on this machine, as docs/design/plan-space.md counts
/// them.
[[nodiscard]] double space_log10(const Predictor& predictor);

}  // namespace sluice::planner
