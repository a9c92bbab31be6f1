// Boost: how much faster a machine's compute lane works after it rested.
#pragma once

#include <optional>

#include "planner/costs/calibration.hpp"
#include "planner/costs/cost.hpp"
#include "planner/machines/machine.hpp"
#include "sim/boost.hpp"

namespace sluice::planner {

/// Calibration's keys for the numbers of a boost. A sample's value is the number itself; of a
/// window, seconds.
struct BoostKeys {
  CostKey gain{"boost/compute/gain"}, most{"boost/compute/most"}, window{"boost/compute/window"};
  /// Keys that only calibration has; without samples nothing lasts.
  CostKey lasting_gain{"boost/compute/lasting_gain"},
      lasting_window{"boost/compute/lasting_window"};
};

/// Boost of the compute lane: calibration's where gain, most and window are all calibrated, else
/// the profile's; none where neither has them or the gain is 0. Only for CUDA devices. Throws
/// BadRequest naming a number that is out of range (sim/boost.hpp).
[[nodiscard]] std::optional<CostModel::LaneBoost> lane_boost(const MachineProfile& profile,
                                                             const Calibration& calibration);

/// The simulator's form of `boost`, in seconds.
[[nodiscard]] sim::RestRule rest_rule(const CostModel::LaneBoost& boost);

/// Share of the lane's boost that a pass of `work` gains, `sustained` being its time on a lane that
/// never rests: 1 where products and attention take all of it, 0 where element-wise kernels at the
/// device's bandwidth take a quarter or more. Those draw little power, so that the pass keeps most
/// of its clock anyway. 0 without products. Source: gains of 1 to 19 % of passes of 0.5 B to 8 B
/// parameters on three H200 (history: 2026-11-23-prediction-study-even).
[[nodiscard]] double boost_share(const MachineProfile& profile, const Work& work,
                                 Seconds sustained);

/// Smallest share of its sustained time that work can take, after any rest: 1 without a boost.
[[nodiscard]] double least_share(const std::optional<CostModel::LaneBoost>& boost);

/// Largest number of seconds of sustained work that a second of rest saves: 0 without a boost.
[[nodiscard]] double most_gained(const std::optional<CostModel::LaneBoost>& boost);

/// Time of `sustained` seconds of work that begin with the lane fully rested, which is the least
/// time that they can take.
[[nodiscard]] Seconds rested(Seconds sustained, const std::optional<CostModel::LaneBoost>& boost);

}  // namespace sluice::planner
