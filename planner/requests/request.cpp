#include "planner/requests/request.hpp"

#include <utility>

#include "planner/costs/fabric_rates.hpp"
#include "planner/plans/plan_overrides.hpp"
#include "planner/policies/run_job.hpp"
#include "planner/requests/run_devices.hpp"
#include "planner/runs/run_machine.hpp"

namespace sluice::planner {
namespace {

Pins pins_of(const RunConfig& config, const Job& job, const MachineProfile& profile) {
  return [overrides = config.plan_overrides, threads = config.threads, devices = config.devices,
          fabric = hosts_of_plans(profile, config.devices, Gather::fabric),
          host = hosts_of_plans(profile, config.devices, Gather::host), job](Plan& plan) {
    if (devices > 1) plan.ranks = devices;
    apply_plan_overrides(plan, job, overrides, threads);
    if (devices == 1 || overrides.contains("hosts")) return;
    plan.hosts = plan.gather == Gather::host ? host : fabric;
  };
}

}  // namespace

ResolvedMachine as_probed(RunConfig config) {
  // Its kernels' table is no change of the machine.
  std::erase_if(config.machine_overrides,
                [](const auto& each) { return each.first != kKernelsFile; });
  config.limits.link.reset();
  config.limits.pinned.reset();
  return to_machine(config);
}

Request Request::with(RunConfig changed) const {
  return resolve(std::move(changed), store, policy);
}

Request Request::with_calibration(Calibration other) const {
  Request request = *this;
  request.calibration = std::move(other);
  request.predictor = with_terms(request, config.terms);
  return request;
}

Request resolve(RunConfig config, Store store, const std::optional<Policy>& known) {
  require_sizes(config);
  std::optional<Policy> policy = known && known->is_of(config) ? known : policy_of(config);
  std::optional<ResolvedMachine> machine;
  const Job job = to_job(config, policy, machine);
  if (!machine) machine = to_machine(config);
  Calibration calibration = store.calibration(machine->calibration_hash);
  if (!calibration.empty()) {
    calibration = rescaled(calibration, as_probed(config).profile, machine->profile);
  }
  require_devices(config, job, *machine);
  if (machine->state_on_disk && job.optimizer.kind == OptimizerKind::muon) {
    throw BadRequest(
        "limits.disk: state on the disk does not go with optimizer.kind muon, whose updates are "
        "the device's: leave it out, or set the kind to adamw");
  }
  SearchSettings search{.pins = pins_of(config, job, machine->profile)};
  Predictor predictor(job, std::move(*machine), calibration, config.residency, config.terms,
                      config.devices);
  return {.config = std::move(config),
          .store = std::move(store),
          .policy = std::move(policy),
          .predictor = std::move(predictor),
          .calibration = std::move(calibration),
          .search = std::move(search)};
}

Predictor with_terms(const Request& request, const CostSwitches& terms) {
  const Predictor& all = request.predictor;
  return {all.job(), all.machine(), request.calibration, all.residency(), terms, all.ranks()};
}

}  // namespace sluice::planner
