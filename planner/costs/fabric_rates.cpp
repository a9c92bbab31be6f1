#include "planner/costs/fabric_rates.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// Point of a curve whose size is `size`, between the points around it.
Bandwidth on_curve(const std::vector<CurvePoint>& curve, double size) {
  check(!curve.empty(), "a fabric's curve has points");
  const auto above = std::ranges::lower_bound(curve, size, {}, &CurvePoint::size);
  if (above == curve.begin()) return curve.front().rate;
  if (above == curve.end()) return curve.back().rate;
  const auto below = above - 1;
  const double share = std::log(size / below->size) / std::log(above->size / below->size);
  Bandwidth fact = share < 0.5 ? below->rate : above->rate;
  fact.value = below->rate.value + (above->rate.value - below->rate.value) * share;
  fact.deviation = below->rate.deviation + (above->rate.deviation - below->rate.deviation) * share;
  return fact;
}

const std::vector<CurvePoint>& curve_of(const Fabric& fabric, Collective operation) {
  switch (operation) {
    case Collective::gather:
      return fabric.gather;
    case Collective::exchange_inside:
      return fabric.levels ? fabric.levels->inside : fabric.exchange;
    case Collective::exchange_between:
      return fabric.levels ? fabric.levels->between : fabric.exchange;
    case Collective::exchange:
      break;
  }
  return fabric.exchange;
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

Bandwidth collective_rate(const Fabric& fabric, Collective operation, Bytes bytes) {
  return on_curve(curve_of(fabric, operation), static_cast<double>(bytes.count()));
}

std::int64_t hosts_that_sum(const MachineProfile& profile, std::int64_t ranks) {
  if (!profile.fabric || !profile.fabric->levels) return 1;
  return summing_hosts(ranks, profile.fabric->levels->hosts);
}

std::int64_t hosts_that_share(const MachineProfile& profile, std::int64_t ranks) {
  if (!profile.fabric || ranks % profile.fabric->hosts != 0) return 1;
  return profile.fabric->hosts;
}

std::int64_t hosts_of_plans(const MachineProfile& profile, std::int64_t ranks, Gather gather) {
  return gather == Gather::host ? hosts_that_share(profile, ranks) : hosts_that_sum(profile, ranks);
}

Bandwidth fastest_rate(const Fabric& fabric, Collective operation) {
  const std::vector<CurvePoint>& curve = curve_of(fabric, operation);
  check(!curve.empty(), "a fabric's curve has points");
  return std::ranges::max_element(curve, {},
                                  [](const CurvePoint& point) { return point.rate.value; })
      ->rate;
}

Bandwidth fastest_collective(const Fabric& fabric) {
  Bandwidth fastest = fastest_rate(fabric, Collective::gather);
  for (const Collective operation :
       {Collective::exchange, Collective::exchange_inside, Collective::exchange_between}) {
    const Bandwidth rate = fastest_rate(fabric, operation);
    if (rate.value > fastest.value) fastest = rate;
  }
  return fastest;
}

}  // namespace sluice::planner
