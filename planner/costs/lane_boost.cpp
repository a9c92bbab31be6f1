#include "planner/costs/lane_boost.hpp"

#include <algorithm>
#include <cmath>

#include "sim/error.hpp"

namespace sluice::planner {
namespace {

[[noreturn]] void refuse(const MachineProfile& profile, const char* number, const char* reason) {
  throw BadRequest("machine " + profile.name + ": " + number + ": " + reason);
}

}  // namespace

std::optional<CostModel::LaneBoost> lane_boost(const MachineProfile& profile,
                                               const Calibration& calibration) {
  if (profile.device != DeviceKind::cuda) return std::nullopt;
  const BoostKeys keys;
  double gain = profile.boost_gain.value, most = profile.boost_most.value,
         window = profile.boost_window.value.count(), lasting_gain = 0, lasting_window = 1;
  const auto known = [&](const CostKey& key) { return calibration.find(key); };
  const auto end = calibration.end();
  if (known(keys.gain) != end && known(keys.most) != end && known(keys.window) != end) {
    gain = known(keys.gain)->second.value;
    most = known(keys.most)->second.value;
    window = known(keys.window)->second.value;
    if (known(keys.lasting_gain) != end && known(keys.lasting_window) != end) {
      lasting_gain = known(keys.lasting_gain)->second.value;
      lasting_window = known(keys.lasting_window)->second.value;
    }
  }
  if (!(gain > 0)) return std::nullopt;
  if (!(lasting_gain >= 0) || !(gain + lasting_gain <= 1)) {
    refuse(profile, "boost_gain", "must be at most 1, or resting would pay");
  }
  if (!(most >= 1) || !std::isfinite(most)) {
    refuse(profile, "boost_most", "must be 1 or more: the speed after a long rest over sustained");
  }
  if (!(window > 0) || !std::isfinite(window) || !(lasting_window > 0) ||
      !std::isfinite(lasting_window)) {
    refuse(profile, "boost_window", "must be above 0, such as 50 ms");
  }
  return CostModel::LaneBoost{gain, most, Seconds(window), lasting_gain, Seconds(lasting_window)};
}

sim::RestRule rest_rule(const CostModel::LaneBoost& boost) {
  return {boost.gain, boost.most, boost.window.count(), boost.lasting_gain,
          boost.lasting_window.count()};
}

double boost_share(const MachineProfile& profile, const Work& work, Seconds sustained) {
  constexpr double kNoBoost = 0.25;
  if (work.gemms.empty() && work.attention.empty()) return 0;
  if (!(sustained.count() > 0) || !(profile.hbm_bandwidth.value > BytesPerSecond(0))) return 1;
  const Seconds element_wise = (work.streamed + work.waited) / profile.hbm_bandwidth.value;
  // Single precision, as in the simulator, so that a graph read from a file is the same.
  return static_cast<float>(std::clamp(1 - element_wise / sustained / kNoBoost, 0.0, 1.0));
}

double least_share(const std::optional<CostModel::LaneBoost>& boost) {
  return boost ? 1 / (std::min(boost->most, 1 + boost->gain) + boost->lasting_gain) : 1;
}

double most_gained(const std::optional<CostModel::LaneBoost>& boost) {
  return boost ? boost->gain + boost->lasting_gain : 0;
}

Seconds rested(Seconds sustained, const std::optional<CostModel::LaneBoost>& boost) {
  if (!boost) return sustained;
  sim::LaneRest lane(rest_rule(*boost));
  lane.set_rest(1, 1);
  return Seconds(lane.time_for(sustained.count()));
}

}  // namespace sluice::planner
