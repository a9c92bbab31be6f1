#include "planner/requests/saving_plan.hpp"

#include <algorithm>

#include "planner/models/muon.hpp"
#include "planner/models/unit_size.hpp"

namespace sluice::planner {
namespace {

Bytes padded_state(const Job& job) {
  Bytes bytes{0};
  for (const UnitSize& size : unit_sizes(job)) bytes += state_bytes(job, size);
  return bytes;
}

/// Bytes of state that live in device memory, from where they cross the link.
Bytes state_on_device(const Job& job, const Plan& plan) {
  Bytes bytes{0};
  for (std::size_t unit = 0; unit < plan.units.size(); ++unit) {
    if (plan.units[unit].state == Tier::hbm) {
      bytes += state_bytes(job, unit_size(job, unit));
    }
  }
  return bytes;
}

}  // namespace

Bytes checkpoint_bytes(const Job& job) {
  const std::int64_t all = parameter_count(job.model);
  std::int64_t muons = 0;  // Elements of matrices, which have no second moment.
  for (std::size_t unit = 0; unit < unit_count(job.model); ++unit) {
    if (!muon_updates(job, unit)) continue;
    for (const MuonSides& each : muon_matrices(job, unit)) {
      muons += each.side * each.other * each.count;
    }
  }
  return state_bytes(job, UnitSize{.parameters = all, .second = all - muons});
}

SavingPlan plan_saving(const RunConfig& config, const Job& job, const Prediction& prediction,
                       const ResolvedMachine& machine, std::optional<Bytes> host_available) {
  SavingPlan saving;
  saving.checkpoint = checkpoint_bytes(job);
  if (config.save_every > 0) saving.saves = (config.steps - 1) / config.save_every;
  const std::int64_t all = saving.saves + 1;
  saving.kept =
      config.keep_last ? std::min(all, *config.keep_last + (config.keep_best ? 1 : 0)) : all;
  saving.disk = saving.checkpoint * std::min(all, saving.kept + 1);

  const MachineProfile& profile = machine.profile;
  const auto time_of = [](Bytes bytes, const Bandwidth& at) {
    return bytes / std::max(at.value, BytesPerSecond(1));
  };
  saving.write = time_of(saving.checkpoint, profile.disk_write);
  saving.stall = saving.write;
  if (saving.saves == 0) return saving;

  const Bytes snapshot = padded_state(job);
  const TierMemory& host = at(prediction.memory, Tier::host);
  // On the host backend the process holds the device's arena too.
  const Bytes in_process = profile.device == DeviceKind::host
                               ? at(prediction.memory, Tier::hbm).peak + host.peak
                               : host.peak;
  if (host.peak + snapshot > host.capacity) return saving;
  if (host_available && in_process + snapshot > *host_available) return saving;
  saving.snapshot = snapshot;
  const Bytes crossing =
      profile.device == DeviceKind::host ? Bytes(0) : state_on_device(job, prediction.plan);
  const Seconds copy =
      2 * time_of(snapshot - crossing, profile.dram) + time_of(crossing, profile.d2h);
  const Seconds between = to_seconds(prediction.step) * static_cast<double>(config.save_every);
  saving.write += copy;
  saving.stall = copy + std::max(Seconds(0), saving.write - between);
  return saving;
}

void add_snapshot(Prediction& prediction, const SavingPlan& saving) {
  if (!saving.background()) return;
  TierMemory& host = at(prediction.memory, Tier::host);
  host.parts.emplace_back("snapshot", saving.snapshot);
  host.peak += saving.snapshot;
}

}  // namespace sluice::planner
