#include "planner/costs/lane_interference.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>

namespace sluice::planner {
namespace {

using LaneInterference = CostModel::LaneInterference;
using ByThreads = std::map<std::int64_t, double>;

ByThreads stated(const MachineProfile& profile, LaneKind on, LaneKind from) {
  ByThreads factors;
  for (const auto& each : profile.interference) {
    if (each.on == on && each.from == from) factors[each.threads] = each.factor.value;
  }
  return factors;
}

double factor_at(const ByThreads& factors, std::int64_t threads) {
  const auto any = factors.find(0);
  if (any != factors.end()) return any->second;
  if (threads == 0) {
    double mildest = 0;
    for (const auto& [count, factor] : factors) mildest = std::max(mildest, factor);
    return mildest;
  }
  const auto above = factors.lower_bound(threads);
  if (above == factors.begin()) return above->second;
  if (above == factors.end()) return factors.rbegin()->second;
  const auto below = std::prev(above);
  const auto logarithm = [](std::int64_t count) { return std::log(static_cast<double>(count)); };
  const double share = (logarithm(threads) - logarithm(below->first)) /
                       (logarithm(above->first) - logarithm(below->first));
  return below->second + (above->second - below->second) * share;
}

}  // namespace

CostKey interference_key(LaneKind on, LaneKind from, std::int64_t threads) {
  std::string pair = std::string(to_string(on)) + "/" + to_string(from);
  if (threads > 0) pair += "/" + std::to_string(threads);
  return CostKey(CostKind::interference, pair);
}

std::optional<LaneKind> slowing_lane(const CostKey& key) {
  if (key.kind() != CostKind::interference && key.kind() != CostKind::launch_delay) {
    return std::nullopt;
  }
  std::string_view lane = std::string_view(key.name()).substr(first_words(key.kind()).size());
  if (key.kind() == CostKind::interference) {
    const auto end_of_slowed = lane.find('/');
    if (end_of_slowed == lane.npos) return std::nullopt;
    lane.remove_prefix(end_of_slowed + 1);
  }
  return lane_named(lane.substr(0, lane.find('/')));
}

bool stated_by_threads(const MachineProfile& profile, LaneKind on, LaneKind from) {
  return std::any_of(
      profile.interference.begin(), profile.interference.end(),
      [&](const auto& each) { return each.on == on && each.from == from && each.threads > 0; });
}

std::vector<LaneInterference> lane_interference(const MachineProfile& profile,
                                                const Calibration& calibration,
                                                std::int64_t threads) {
  std::vector<LaneInterference> all;
  const auto known_pair = [&](LaneKind on, LaneKind from) {
    return std::any_of(all.begin(), all.end(), [&](const LaneInterference& each) {
      return each.on == on && each.from == from;
    });
  };
  const auto calibrated = [&](LaneKind on, LaneKind from) -> const double* {
    const bool by_threads = stated_by_threads(profile, on, from);
    if (by_threads && threads == 0) return nullptr;
    const auto found = calibration.find(interference_key(on, from, by_threads ? threads : 0));
    return found == calibration.end() || !(found->second.value > 0) ? nullptr
                                                                    : &found->second.value;
  };
  for (const auto& each : profile.interference) {
    if (known_pair(each.on, each.from)) continue;
    const double* known = calibrated(each.on, each.from);
    all.push_back(
        {each.on, each.from,
         known != nullptr ? *known : factor_at(stated(profile, each.on, each.from), threads)});
  }
  const auto add_duplex = [&](LaneKind on, LaneKind from, const Bandwidth& alone,
                              const Bandwidth& duplex) {
    if (!known_pair(on, from) && duplex.value > BytesPerSecond(0) && duplex.value < alone.value) {
      all.push_back({on, from, duplex.value / alone.value});
    }
  };
  add_duplex(LaneKind::h2d, LaneKind::d2h, profile.h2d, profile.h2d_duplex);
  add_duplex(LaneKind::d2h, LaneKind::h2d, profile.d2h, profile.d2h_duplex);
  return all;
}

}  // namespace sluice::planner
