#include "planner/catalogue/joined_hosts.hpp"

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/costs/fabric_rates.hpp"
#include "planner/plans/plan.hpp"

namespace sluice::planner {
namespace {

/// Time that a message takes between two hosts (NCCL's own model of its networks).
constexpr Seconds kNetworkLatency(14e-6);
/// Relative deviation of rates that follow from a NIC's stated one.
constexpr double kStatedNic = 0.1;

/// A collective among `local` ranks on each of `hosts` hosts.
struct Reach {
  std::int64_t hosts, local;
  [[nodiscard]] double peers() const { return static_cast<double>(hosts * local - 1); }
  /// The part of what a rank receives that comes from its own host.
  [[nodiscard]] double inside() const { return static_cast<double>(local - 1) / peers(); }
  /// Bytes that enter the host for each byte that one of its ranks receives.
  [[nodiscard]] double entering(Collective operation) const {
    const double away = static_cast<double>((hosts - 1) * local) / peers();
    return operation == Collective::gather ? away : away * static_cast<double>(local);
  }
};

/// The curve of a collective over all hosts, at the sizes that are known inside one.
std::vector<CurvePoint> across(const Fabric& inside, Collective operation, const Reach& reach,
                               BytesPerSecond nic) {
  const auto& known = operation == Collective::gather ? inside.gather : inside.exchange;
  std::vector<CurvePoint> curve;
  for (const CurvePoint& point : known) {
    // A gather passes on inside the host what entered it; an exchange moves only its own part.
    const double moved =
        reach.local == 1 ? 0 : (operation == Collective::gather ? 1 : reach.inside());
    const double seconds_a_byte =
        moved / point.rate.value.count() + reach.entering(operation) / nic.count();
    const BytesPerSecond rate(1 / seconds_a_byte);
    curve.push_back(
        {point.size,
         {.value = rate,
          .deviation = rate * std::hypot(kStatedNic, point.rate.deviation / point.rate.value),
          .count = 1,
          .source = Source::estimated,
          .note = "from a host's fabric and its NIC"}});
  }
  return curve;
}

/// The two exchanges by which gradients summed inside hosts cross the network once a host and not
/// once a rank; none where they take longer than one exchange among all ranks: where a rank's part
/// of the NIC is no slower than what its host's ranks exchange.
std::optional<FabricLevels> levels_across(const Fabric& inside, const Reach& reach,
                                          BytesPerSecond nic) {
  const BytesPerSecond share = nic / static_cast<double>(reach.local);
  if (summing_hosts(reach.hosts * reach.local, reach.hosts) == 1) return std::nullopt;
  if (share >= inside.exchange.back().rate.value) return std::nullopt;
  FabricLevels levels{.hosts = reach.hosts, .inside = inside.exchange, .between = {}};
  levels.between.push_back({1,
                            {.value = share,
                             .deviation = share * kStatedNic,
                             .count = 1,
                             .source = Source::estimated,
                             .note = "a GPU's part of its host's NIC"}});
  return levels;
}

Fabric fabric_across(const Fabric& inside, const Reach& reach, BytesPerSecond nic) {
  Fabric fabric = inside;
  fabric.latency.value += kNetworkLatency;
  fabric.latency.source = Source::estimated;
  fabric.gather = across(inside, Collective::gather, reach, nic);
  fabric.exchange = across(inside, Collective::exchange, reach, nic);
  fabric.hosts = reach.hosts;
  fabric.levels = levels_across(inside, reach, nic);
  return fabric;
}

/// The fabric inside a host; one that is never used for a single GPU.
Fabric fabric_inside(const MachineProfile& profile, const Reach& reach) {
  if (reach.local > 1 || profile.fabric) return required_fabric(profile);
  Bandwidth unused = not_fitted<BytesPerSecond>();
  unused.value = profile.h2d.value;
  Fabric fabric;
  fabric.path = FabricPath::host;
  fabric.latency = not_fitted<Seconds>();
  fabric.gather = fabric.exchange = {{1, unused}};
  return fabric;
}

}  // namespace

MachineProfile profile_of_hosts(MachineProfile one, std::int64_t hosts, BytesPerSecond nic,
                                std::int64_t local) {
  const Reach reach{hosts, local};
  const Fabric inside = fabric_inside(one, reach);
  one.fabric = fabric_across(inside, reach, nic);
  if (one.devices) one.devices = *one.devices * hosts;
  const auto times = static_cast<double>(hosts);
  for (Fact* each : {&one.host, &one.disk, &one.cores}) scale_by(*each, times);
  for (Bandwidth* each : {&one.dram, &one.disk_read, &one.disk_write}) scale_by(*each, times);
  // As many threads on each host update so many times faster.
  std::map<std::int64_t, Fact> update;
  for (auto [threads, rate] : one.update) {
    scale_by(rate, times);
    update.emplace(threads * hosts, rate);
  }
  one.update = std::move(update);
  for (LaneSlowing& each : one.interference) each.threads *= hosts;
  one.name = std::to_string(hosts) + " hosts of " + one.name;
  return one;
}

}  // namespace sluice::planner
