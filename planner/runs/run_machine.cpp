#include "planner/runs/run_machine.hpp"

#include "planner/catalogue/catalogue.hpp"
#include "planner/costs/rescaled_passes.hpp"
#include "planner/machines/copy_limits.hpp"
#include "planner/machines/profile_file.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

Bytes capacity(const std::optional<Bytes>& limit, const Fact& fact) {
  return limit ? *limit : Bytes(static_cast<std::int64_t>(fact.value));
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
  const MachineProfile probed = machine.profile;
  for (const auto& [name, value] : config.machine_overrides) {
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
  return machine;
}

}  // namespace sluice::planner
