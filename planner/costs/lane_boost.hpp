// How much faster a machine's compute lane works after it rested.
#pragma once

#include <optional>

#include "planner/costs/calibration.hpp"
#include "planner/costs/cost.hpp"
#include "planner/machines/machine.hpp"
#include "sim/boost.hpp"

namespace sluice::planner {

/// What calibration knows the numbers by; each sample's value is the number (of a window, seconds).
struct BoostKeys {
  CostKey gain{"boost/compute/gain"}, most{"boost/compute/most"}, window{"boost/compute/window"};
  /// Of calibration alone; where these are not known, nothing lasts.
  CostKey lasting_gain{"boost/compute/lasting_gain"},
      lasting_window{"boost/compute/lasting_window"};
};

/// The profile's, or calibration's where gain, most and window are calibrated; none where neither
/// has them or nothing is gained. Of CUDA devices alone. Throws BadRequest naming the number that a
/// simulation could not take (sim/boost.hpp has their ranges).
[[nodiscard]] std::optional<CostModel::LaneBoost> lane_boost(const MachineProfile& profile,
                                                             const Calibration& calibration);

/// In seconds.
[[nodiscard]] sim::RestRule rest_rule(const CostModel::LaneBoost& boost);

/// The share of a boost that a pass of `work` takes, which lasts `sustained` on a lane that never
/// rests: all where products and attention take its time, none where a quarter of it or more goes
/// to element-wise kernels at the device's bandwidth. Those draw little power, so that the pass
/// keeps most of its clock anyway. 0 without products. Of passes of 0.5 B to 8 B on three H200
/// (gains of 1 to 19 %): history: 2026-11-23-prediction-study-even.
[[nodiscard]] double boost_share(const MachineProfile& profile, const Work& work,
                                 Seconds sustained);

/// Least share of its sustained time that work may take which the lane does without a pause, or
/// with any: 1 where there is no boost.
[[nodiscard]] double least_share(const std::optional<CostModel::LaneBoost>& boost);

/// Seconds of sustained work that a second of rest saves at most: 0 where there is no boost.
[[nodiscard]] double most_gained(const std::optional<CostModel::LaneBoost>& boost);

/// The least time that `sustained` seconds of work may take from any rest.
[[nodiscard]] Seconds rested(Seconds sustained, const std::optional<CostModel::LaneBoost>& boost);

}  // namespace sluice::planner
