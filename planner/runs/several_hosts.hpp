// Several equal hosts as one machine whose GPUs share steps.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "planner/machines/resolved_machine.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// Equal hosts, joined by a network.
struct SeveralHosts {
  std::int64_t count = 1;
  BytesPerSecond nic;  ///< Bytes/s that each host sends, and receives, by all its NICs together.
};

/// Whether `name` of `machine.NAME=VALUE` states hosts and no fact of a profile: "hosts" or "nic".
[[nodiscard]] bool is_host_setting(const std::string& name);
/// Throws BadRequest naming the setting if its value is none.
void check_host_setting(const std::string& name, const std::string& value);

/// The hosts that a run's values for its machine state; none for one host. Throws BadRequest if
/// one of the two settings is missing.
[[nodiscard]] std::optional<SeveralHosts> stated_hosts(
    const std::map<std::string, std::string>& machine_values);

/// Takes a cluster that the run's machine names ("2 hosts of 4x-h100-sxm + 8x400GbE") apart: the
/// machine becomes one host, and hosts and NICs values of it, where the run does not state these
/// itself. Where the run states no devices, they become the GPUs of all hosts.
void spread_cluster(RunConfig& config);

/// The name of the run's machine with all its hosts: what spread_cluster() takes apart.
[[nodiscard]] std::string machine_name(const RunConfig& config);
/// The run on one host of those that it states.
[[nodiscard]] RunConfig on_one_host(RunConfig config);
/// Number of hosts that the run states.
[[nodiscard]] std::int64_t hosts_of(const RunConfig& config);

/// Makes `machine`, one host with its limits, the machine of `hosts` whose GPUs are `devices` in
/// all (profile_of_hosts). Throws BadRequest if the devices are not dealt evenly, or nothing is
/// known of collectives inside a host.
void join_hosts(ResolvedMachine& machine, const SeveralHosts& hosts, std::int64_t devices);

}  // namespace sluice::planner
