#include "planner/costs/fabric_rates.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// Point of a curve whose size is `size`, between the points around it.
Fact on_curve(const std::vector<CurvePoint>& curve, double size) {
  check(!curve.empty(), "a fabric's curve has points");
  const auto above = std::ranges::lower_bound(curve, size, {}, &CurvePoint::size);
  if (above == curve.begin()) return curve.front().rate;
  if (above == curve.end()) return curve.back().rate;
  const auto below = above - 1;
  const double share = std::log(size / below->size) / std::log(above->size / below->size);
  Fact fact = share < 0.5 ? below->rate : above->rate;
  fact.value = below->rate.value + (above->rate.value - below->rate.value) * share;
  fact.deviation = below->rate.deviation + (above->rate.deviation - below->rate.deviation) * share;
  return fact;
}

}  // namespace

std::optional<Fabric> fabric_of(const MachineProfile& profile) {
  if (profile.fabric || profile.device == DeviceKind::cuda) return profile.fabric;
  // Ranks of the host backend are threads, whose bytes are copied as those of its links are.
  const CurvePoint copies{1, profile.h2d};
  return Fabric{.latency = profile.copy_latency, .gather = {copies}, .exchange = {copies}};
}

Fabric required_fabric(const MachineProfile& profile) {
  if (auto fabric = fabric_of(profile)) return *std::move(fabric);
  throw BadRequest("machine " + profile.name +
                   ": fabric: not stated, so its GPUs cannot be timed together: set ranks of the "
                   "plan to 1, name a machine with several GPUs, such as 4x-h100-sxm, or add "
                   "`fabric` to the profile");
}

Fact collective_rate(const Fabric& fabric, Collective operation, Bytes bytes) {
  return on_curve(operation == Collective::gather ? fabric.gather : fabric.exchange,
                  static_cast<double>(bytes.count()));
}

Fact fastest_collective(const Fabric& fabric) {
  const CurvePoint* fastest = nullptr;
  for (const auto* curve : {&fabric.gather, &fabric.exchange}) {
    for (const CurvePoint& point : *curve) {
      if (fastest == nullptr || point.rate.value > fastest->rate.value) fastest = &point;
    }
  }
  check(fastest != nullptr, "a fabric's curve has points");
  return fastest->rate;
}

}  // namespace sluice::planner
