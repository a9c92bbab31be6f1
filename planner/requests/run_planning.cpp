#include "planner/requests/run_planning.hpp"

#include <algorithm>
#include <string_view>

#include "planner/policies/policy.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// How much longer a task takes when the fact behind it goes from `before` to `after`.
double slower(const Fact& before, const Fact& after) {
  return before.value > 0 && after.value > 0 ? before.value / after.value : 1;
}

double slower_gemm(const MachineProfile& before, const MachineProfile& after) {
  if (before.gemm.empty() || after.gemm.empty()) return 1;
  return slower(before.gemm.back().rate, after.gemm.back().rate);
}

double slower_update(const MachineProfile& before, const MachineProfile& after) {
  if (before.update.empty() || after.update.empty()) return 1;
  return slower(before.update.rbegin()->second, after.update.rbegin()->second);
}

/// Of what an interference sample or a launch delay is `from`: the bytes/s that copies pass on
/// `changed` over those on `measured`, at most 1; 1 where it is not copies.
double copies_share(std::string_view from, const MachineProfile& measured,
                    const MachineProfile& changed) {
  const auto slowed_by = [&](std::string_view lane) { return from.starts_with(lane); };
  if (slowed_by("h2d")) return std::min(1.0, 1 / slower(measured.h2d, changed.h2d));
  if (slowed_by("d2h")) return std::min(1.0, 1 / slower(measured.d2h, changed.d2h));
  return 1;
}

}  // namespace

ResolvedMachine as_probed(RunConfig config) {
  config.machine_overrides.clear();
  config.limits.link.reset();
  config.limits.pinned.reset();
  return to_machine(config);
}

Calibration rescaled(const Calibration& calibration, const MachineProfile& measured,
                     const MachineProfile& changed) {
  Calibration result = calibration;
  for (auto& [key, sample] : result) {
    const std::string_view name = key.name;
    double factor = 1;
    // Of the device's clocks, and of its queues.
    if (name.starts_with("boost/") || name.starts_with("hand_off/")) continue;
    // What copies take of others is in proportion to the bytes that pass.
    if (name.starts_with("launch_delay/")) {
      factor = copies_share(name.substr(name.find('/') + 1), measured, changed);
    } else if (name.starts_with("interference/")) {
      const double share =
          copies_share(name.substr(name.find('/', name.find('/') + 1) + 1), measured, changed);
      sample.value = 1 - (1 - sample.value) * share;
      sample.deviation *= share;
      continue;
    } else if (name.starts_with("copy/h2d")) {
      factor = slower(measured.h2d, changed.h2d);
    } else if (name.starts_with("copy/d2h")) {
      factor = slower(measured.d2h, changed.d2h);
    } else if (name.starts_with("copy/disk_read")) {
      factor = slower(measured.disk_read, changed.disk_read);
    } else if (name.starts_with("copy/disk_write")) {
      factor = slower(measured.disk_write, changed.disk_write);
    } else if (name.starts_with("update/cpu")) {
      factor = slower_update(measured, changed);
    } else if (name.starts_with("update/device")) {
      factor = slower(measured.device_update, changed.device_update);
    } else if (name.starts_with("launch/")) {
      factor = 1 / slower(measured.launch, changed.launch);
    } else if (!name.starts_with("data/")) {
      factor = slower_gemm(measured, changed);
    }
    const double scale = is_rate(key) ? 1 / factor : factor;
    sample.value *= scale;
    sample.deviation *= scale;
  }
  return result;
}

RunPlanning planning_of(const RunConfig& config, const Store& store) {
  const Job job = to_job(config);
  ResolvedMachine machine = to_machine(config);
  Calibration calibration = store.calibration(machine.calibration_hash);
  if (!calibration.empty()) {
    calibration = rescaled(calibration, as_probed(config).profile, machine.profile);
  }
  SearchSettings settings;
  settings.pins = [config, job](Plan& plan) { apply_plan_overrides(plan, job, config); };
  return {Predictor(job, std::move(machine), calibration, config.residency, config.terms),
          calibration, settings};
}

Predictor with_terms(const RunPlanning& run, const CostSwitches& terms) {
  const Predictor& all = run.predictor;
  return {all.job(), all.machine(), run.calibration, all.residency(), terms};
}

std::optional<Plan> given_plan(const RunConfig& config, const Job& job) {
  if (!config.plan) {
    return config.policy ? std::optional(policy_plan(config, job).plan) : std::nullopt;
  }
  const PlanFile file = read_plan_file(*config.plan);
  check_plan_for(file, job);
  Plan plan = file.plan;
  apply_plan_overrides(plan, job, config);
  validate(plan, job);
  return plan;
}

}  // namespace sluice::planner
