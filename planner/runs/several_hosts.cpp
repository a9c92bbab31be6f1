#include "planner/runs/several_hosts.hpp"

#include <utility>

#include "planner/catalogue/catalogue.hpp"
#include "planner/catalogue/cluster.hpp"
#include "planner/catalogue/counted_machine.hpp"
#include "planner/catalogue/joined_hosts.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

constexpr char kHosts[] = "hosts", kNic[] = "nic";
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
  const BytesPerSecond rate = parse_nic(value, "machine.nic");
  if (rate.count() > 0) return rate;
  throw BadRequest("machine.nic: \"" + value + "\" must be more than 0");
}

/// GPUs of one host of the machine called `name`: those that its name or its file states.
std::int64_t gpus_of_host(const std::string& name) {
  const std::int64_t named = counted_machine(name).gpus;
  if (named > 1 || !name.ends_with(".json")) return named;
  return find_machine(name).devices.value_or(1);
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
                     ": set it to a host's NICs, such as \"8x400GbE\", or to the bytes/s that they "
                     "reach together, such as \"47 GB/s\"");
  }
  return SeveralHosts{.count = count, .nic = nic_rate(nic->second)};
}

void spread_cluster(RunConfig& config) {
  auto& values = config.machine_overrides;
  if (const auto cluster = cluster_named(config.machine)) {
    config.machine = cluster->machine;
    values.insert({kHosts, std::to_string(cluster->hosts)});
    if (!cluster->nic.empty()) values.insert({kNic, cluster->nic});
  }
  const auto hosts = values.find(kHosts);
  if (hosts == values.end() || config.stated.contains("devices")) return;
  const std::int64_t count = host_count(hosts->second);
  if (count > 1) config.devices = count * gpus_of_host(config.machine);
}

std::int64_t hosts_of(const RunConfig& config) {
  const auto hosts = config.machine_overrides.find(kHosts);
  return hosts == config.machine_overrides.end() ? 1 : host_count(hosts->second);
}

std::string machine_name(const RunConfig& config) {
  const std::int64_t hosts = hosts_of(config);
  if (hosts == 1) return config.machine;
  const auto nic = config.machine_overrides.find(kNic);
  return to_text(
      Cluster{.hosts = hosts,
              .machine = config.machine,
              .nic = nic == config.machine_overrides.end() ? std::string() : nic->second});
}

RunConfig on_one_host(RunConfig config) {
  config.machine_overrides.erase(kHosts);
  config.machine_overrides.erase(kNic);
  return config;
}

void join_hosts(ResolvedMachine& machine, const SeveralHosts& hosts, std::int64_t devices) {
  const std::int64_t count = hosts.count;
  if (devices % count != 0) {
    throw BadRequest("devices: " + std::to_string(devices) + " of " + std::to_string(count) +
                     " hosts in all: set devices to a multiple of machine.hosts");
  }
  machine.profile = profile_of_hosts(std::move(machine.profile), count, hosts.nic, devices / count);
  machine.host = Bytes(machine.host.count() * count);
  machine.disk = Bytes(machine.disk.count() * count);
}

}  // namespace sluice::planner
