// Whether a search of plans whose state passes through a ring is worth its time.
#pragma once

#include <optional>

#include "planner/plans/pins.hpp"
#include "planner/predictions/predict.hpp"

namespace sluice::planner {

/// Whether the pins leave plans whose state passes through a ring (Staging::ring) beside others.
[[nodiscard]] bool has_rings_beside_others(const Predictor& predictor, const Pins& pins);

/// Whether such plans may be so much faster than `step`, the best step of others, that they are
/// worth a search: by the relaxation's bound for a usual number of slots. Where no other plan fits
/// (`step` is none), whether they may fit.
[[nodiscard]] bool rings_may_gain(const Predictor& predictor, const Pins& pins,
                                  std::optional<Seconds> step);

}  // namespace sluice::planner
