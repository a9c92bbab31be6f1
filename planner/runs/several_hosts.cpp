#include "planner/runs/several_hosts.hpp"

#include <cmath>

#include "planner/costs/fabric_rates.hpp"
#include "planner/plans/plan.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {
namespace {

constexpr char kHosts[] = "hosts", kNic[] = "nic";
/// Seconds that a message takes between two hosts (NCCL's own model of its networks).
constexpr double kNetworkLatency = 14e-6;
/// Relative deviation of rates that follow from a NIC's stated one.
constexpr double kStatedNic = 0.1;

std::int64_t host_count(const std::string& value) {
  constexpr std::int64_t kMost = 65536;
  std::int64_t count = 0;
  for (const char each : value) {
    if (each < '0' || each > '9' || count > kMost) count = kMost + 1;
    count = count * 10 + (each - '0');
  }
  if (!value.empty() && count >= 1 && count <= kMost) return count;
  throw BadRequest("machine.hosts: \"" + value + "\" must be a whole number from 1 on");
}

BytesPerSecond nic_rate(const std::string& value) {
  const BytesPerSecond rate = parse_bytes_per_second(value, "machine.nic");
  if (rate.count() > 0) return rate;
  throw BadRequest("machine.nic: \"" + value + "\" must be more than 0");
}

void multiply(Fact& fact, std::int64_t hosts) {
  fact.value *= static_cast<double>(hosts);
  fact.deviation *= static_cast<double>(hosts);
}

/// What a rank receives in a collective among `hosts` x `local` ranks.
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
                               double nic) {
  const auto& known = operation == Collective::gather ? inside.gather : inside.exchange;
  std::vector<CurvePoint> curve;
  for (const CurvePoint& point : known) {
    // A gather passes on inside the host what entered it; an exchange moves only its own part.
    const double moved =
        reach.local == 1 ? 0 : (operation == Collective::gather ? 1 : reach.inside());
    const double seconds_a_byte = moved / point.rate.value + reach.entering(operation) / nic;
    const double rate = 1 / seconds_a_byte;
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
std::optional<FabricLevels> levels_across(const Fabric& inside, const Reach& reach, double nic) {
  const double share = nic / static_cast<double>(reach.local);
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

Fabric fabric_across(const Fabric& inside, const Reach& reach, double nic) {
  Fabric fabric = inside;
  fabric.latency.value += kNetworkLatency;
  fabric.latency.source = Source::estimated;
  fabric.gather = across(inside, Collective::gather, reach, nic);
  fabric.exchange = across(inside, Collective::exchange, reach, nic);
  fabric.levels = levels_across(inside, reach, nic);
  return fabric;
}

/// The fabric inside a host; one that is never used for a single GPU.
Fabric fabric_inside(const MachineProfile& profile, const Reach& reach) {
  if (reach.local > 1 || profile.fabric) return required_fabric(profile);
  Fact unused = not_fitted();
  unused.value = profile.h2d.value;
  Fabric fabric;
  fabric.path = FabricPath::host;
  fabric.latency = not_fitted();
  fabric.gather = fabric.exchange = {{1, unused}};
  return fabric;
}

}  // namespace

bool is_host_setting(const std::string& name) { return name == kHosts || name == kNic; }

void check_host_setting(const std::string& name, const std::string& value) {
  if (name == kHosts) (void)host_count(value);
  if (name == kNic) (void)nic_rate(value);
}

std::optional<SeveralHosts> stated_hosts(const std::map<std::string, std::string>& machine_values) {
  const auto hosts = machine_values.find(kHosts);
  const auto nic = machine_values.find(kNic);
  const std::int64_t count = hosts == machine_values.end() ? 1 : host_count(hosts->second);
  if (count == 1) return std::nullopt;
  if (nic == machine_values.end()) {
    throw BadRequest("machine.nic: is missing beside machine.hosts " + hosts->second +
                     ": set it to the bytes/s of a host's NICs together, such as \"47 GB/s\"");
  }
  return SeveralHosts{.count = count, .nic = nic_rate(nic->second)};
}

void join_hosts(ResolvedMachine& machine, const SeveralHosts& hosts, std::int64_t devices) {
  const std::int64_t count = hosts.count;
  if (devices % count != 0) {
    throw BadRequest("devices: " + std::to_string(devices) + " of " + std::to_string(count) +
                     " hosts in all: set devices to a multiple of machine.hosts");
  }
  MachineProfile& profile = machine.profile;
  const Reach reach{count, devices / count};
  const Fabric inside = fabric_inside(profile, reach);
  profile.fabric = fabric_across(inside, reach, hosts.nic.count());
  if (profile.devices) profile.devices = *profile.devices * count;
  for (Fact* each : {&profile.host, &profile.disk, &profile.cores, &profile.dram,
                     &profile.disk_read, &profile.disk_write}) {
    multiply(*each, count);
  }
  // As many threads on each host update so many times faster.
  std::map<std::int64_t, Fact> update;
  for (auto [threads, rate] : profile.update) {
    multiply(rate, count);
    update.emplace(threads * count, rate);
  }
  profile.update = std::move(update);
  for (LaneSlowing& each : profile.interference) each.threads *= count;
  machine.host = Bytes(machine.host.count() * count);
  machine.disk = Bytes(machine.disk.count() * count);
  profile.name = std::to_string(count) + " hosts of " + profile.name;
}

}  // namespace sluice::planner
