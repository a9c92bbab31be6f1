#include "planner/runs/run_machine.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include "planner/catalogue/catalogue.hpp"
#include "planner/catalogue/composed_machine.hpp"
#include "planner/catalogue/counted_machine.hpp"
#include "planner/catalogue/machine_kernels.hpp"
#include "planner/costs/rescaled_passes.hpp"
#include "planner/machines/copy_limits.hpp"
#include "planner/machines/profile_file.hpp"
#include "planner/runs/several_hosts.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

Bytes capacity(const std::optional<Bytes>& limit, const Fact& fact) {
  return limit ? *limit : Bytes(static_cast<std::int64_t>(fact.value));
}

/// Whether the name of a machine of parts states another CPU or other memory than its GPU's usual.
bool states_host(const Composition& parts, const std::string& name) {
  const auto usual = find_composition(name.substr(0, name.find(" + ")));
  return usual && (usual->cpu != parts.cpu || !(usual->ram == parts.ram));
}

/// Whether the run states how fast its host is.
bool host_is_stated(const RunConfig& config) {
  static constexpr std::array kHostFacts = {"cores", "dram", "update"};
  const auto stated = [&config](const char* fact) {
    return config.machine_overrides.contains(fact);
  };
  if (std::ranges::any_of(kHostFacts, stated)) return true;
  const std::string one = counted_machine(config.machine).machine;
  if (find_build(one) != nullptr) return false;
  const auto parts = find_composition(one);
  return parts && states_host(*parts, one);
}

bool in_catalogue(const std::string& machine) {
  if (machine == "here" || std::filesystem::is_regular_file(machine)) return false;
  const std::string one = counted_machine(machine).machine;
  return find_build(one) != nullptr || find_composition(one).has_value();
}

Knowledge knowledge_of(const RunConfig& config, const MachineProfile& profile) {
  switch (profile.probe) {
    case ProbeDepth::quick:
      return Knowledge::quick_probe;
    case ProbeDepth::full:
      return Knowledge::full_probe;
    case ProbeDepth::unstated:
      break;
  }
  if (in_catalogue(config.machine)) {
    return host_is_stated(config) ? Knowledge::catalogue_host_stated : Knowledge::catalogue;
  }
  // Older probes state no depth; they measure updates, which nothing else states as measured
  // outside the catalogue.
  const bool probed = std::ranges::any_of(
      profile.update, [](const auto& each) { return each.second.source == Source::measured; });
  return probed ? Knowledge::probe : Knowledge::catalogue;
}

}  // namespace

ResolvedMachine to_machine(const RunConfig& config) {
  ResolvedMachine machine;
  machine.profile = find_machine(config.machine, config.backend);
  if (config.backend && machine.profile.device != *config.backend) {
    throw BadRequest(std::string("backend: ") + to_string(*config.backend) + ", but machine " +
                     config.machine + " is for backend " + to_string(machine.profile.device) +
                     ": leave backend out, or name another machine");
  }
  machine.calibration_hash = profile_hash(machine.profile);
  machine.knowledge = knowledge_of(config, machine.profile);
  const auto kernels = config.machine_overrides.find(kKernelsFile);
  if (kernels != config.machine_overrides.end()) {
    set_kernels(machine.profile, kernels->second, config.machine);
  }
  const MachineProfile probed = machine.profile;
  for (const auto& [name, value] : config.machine_overrides) {
    if (name == kKernelsFile || is_host_setting(name)) continue;
    set_fact(machine.profile, name, value);
  }
  if (!config.machine_overrides.empty()) {
    machine.profile.passes = rescaled_passes(probed, machine.profile);
  }
  machine.hbm = capacity(config.limits.hbm, machine.profile.hbm);
  machine.host = capacity(config.limits.host, machine.profile.host);
  machine.disk = capacity(config.limits.disk, machine.profile.disk);
  machine.disk_path = config.disk_path;
  machine.state_on_disk = config.limits.disk.has_value() && machine.disk > Bytes(0);
  if (config.limits.pinned && *config.limits.pinned < machine.host) stage_copies(machine);
  if (config.limits.link) limit_link(machine, *config.limits.link);
  if (const auto hosts = stated_hosts(config.machine_overrides)) {
    join_hosts(machine, *hosts, config.devices);
  }
  return machine;
}

}  // namespace sluice::planner
