// Boost: how much faster a machine's compute lane works after it rested.
#pragma once

#include <optional>

#include "planner/costs/calibration.hpp"
#include "planner/costs/cost.hpp"
#include "planner/machines/machine.hpp"
#include "sim/boost.hpp"

namespace sluice::planner {

/// Calibration's keys for the numbers of a device's boost. The value of a gain's or of most's
/// sample is the number itself; of a window's, seconds.
struct BoostKeys {
  CostKey gain{CostKind::boost, "compute/gain"}, most{CostKind::boost, "compute/most"},
      window{CostKind::boost, "compute/window"};
  /// Keys of the lasting part of the boost (sim/boost.hpp), which profiles do not state; without
  /// samples its gain is 0.
  CostKey lasting_gain{CostKind::boost, "compute/lasting_gain"},
      lasting_window{CostKind::boost, "compute/lasting_window"};
};

/// Boost of the compute lane from calibration where it has gain, most and window, else from the
/// profile; none where neither has them, where the gain is 0, or where the device is the host.
/// Throws BadRequest naming a number that is out of range (sim/boost.hpp).
[[nodiscard]] std::optional<CostModel::LaneBoost> lane_boost(const MachineProfile& profile,
                                                             const Calibration& calibration);

/// `boost` as the rule by which the simulator speeds a lane up after rest (sim/boost.hpp), with
/// times in seconds.
[[nodiscard]] sim::RestRule rest_rule(const CostModel::LaneBoost& boost);

/// Share (0 to 1) of the lane's boost by which a pass of `work` gets faster; `sustained` is its
/// time on a lane that never rests. It falls in a line from 1, where products and attention take
/// all of that time, to 0, where element-wise kernels at the device's bandwidth take a quarter:
/// those draw little power, so that the pass keeps most of its clock anyway. 0 without products and
/// attention. Source: gains of 1 to 19 % of passes of 0.5 B to 8 B parameters on three H200
/// (history: 2026-11-23-prediction-study-even).
[[nodiscard]] double boost_share(const MachineProfile& profile, const Work& work,
                                 Seconds sustained);

/// Smallest time that work can take after any rest, as a share of its sustained time: 1 without a
/// boost.
[[nodiscard]] double least_share(const std::optional<CostModel::LaneBoost>& boost);

/// Largest number of seconds of sustained work that one idle second of the lane saves; 0 without a
/// boost.
[[nodiscard]] double most_gained(const std::optional<CostModel::LaneBoost>& boost);

/// Least time that `sustained` seconds of work can take: that when they begin with the lane fully
/// rested.
[[nodiscard]] Seconds rested(Seconds sustained, const std::optional<CostModel::LaneBoost>& boost);

}  // namespace sluice::planner
