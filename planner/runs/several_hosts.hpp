// Several equal hosts as one machine whose GPUs share steps.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "planner/machines/resolved_machine.hpp"

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

/// Makes `machine`, one host with its limits, the machine of `hosts` whose GPUs are `devices` in
/// all: memory, cores and drives are those of all hosts, of which each rank takes its part, and
/// collectives also cross the network. Between hosts, every run of a gather enters a host once, and
/// of an exchange once for each of its ranks; both follow what moves inside the hosts (a rule).
/// Where it is faster, gradients are summed inside hosts before they are exchanged (FabricLevels).
/// Throws BadRequest if the devices are not dealt evenly, or nothing is known of collectives inside
/// a host.
void join_hosts(ResolvedMachine& machine, const SeveralHosts& hosts, std::int64_t devices);

}  // namespace sluice::planner
