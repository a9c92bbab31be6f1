#include "planner/requests/phase_memory.hpp"

#include <algorithm>

#include "planner/plans/disk_state.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {
namespace {

constexpr std::int64_t kFolderBytes = 2;  ///< Bytes that a parameter takes in a model's folder.

/// Host memory that pieces of state take beyond the process's share.
Bytes pieces_beyond_process(const Job& job, const MachineProfile& profile) {
  const bool host = profile.device == DeviceKind::host;
  std::int64_t largest = 0;
  for (std::size_t unit = 0; unit < unit_count(job.model); ++unit) {
    for (const TensorSpec& tensor : unit_tensors(job.model, unit).tensors) {
      largest = std::max(largest, tensor.size());
    }
  }
  const auto cores = static_cast<std::int64_t>(profile.cores.value);
  const std::int64_t threads =
      host ? std::clamp<std::int64_t>(cores, 1, kStateThreads) : kStateThreads;
  const Bytes pieces(kStatePieceBytes * std::min(largest, kStatePiece) * threads);
  const Bytes spare = host ? kProcessSpare : kCudaProcessSpare;
  return pieces > spare ? pieces - spare : Bytes(0);
}

}  // namespace

const char* to_string(Phase phase) {
  switch (phase) {
    case Phase::load:
      return "load";
    case Phase::step:
      return "step";
    case Phase::save:
      return "save";
  }
  return "";
}

PhaseMemory phase_memory(const Job& job, const Memory& step, const ResolvedMachine& machine,
                         const SavingPlan& saving) {
  const Bytes pieces = pieces_beyond_process(job, machine.profile);
  const Bytes drive(static_cast<std::int64_t>(machine.profile.disk.value));
  const Bytes lying = saving.checkpoint * std::min(saving.saves, saving.kept);
  const Bytes folder(kFolderBytes * parameter_count(job.model));
  const auto on_disk = [&](Phase phase) {
    if (phase == Phase::load) return std::max(lying, folder);
    return phase == Phase::step ? lying : saving.disk;
  };
  PhaseMemory memory;
  for (const Phase phase : kPhases) {
    for (const Tier tier : {Tier::hbm, Tier::host, Tier::disk}) {
      const TierMemory& used = at(step, tier);
      PhaseNeed& need = memory[static_cast<std::size_t>(phase)][static_cast<std::size_t>(tier)];
      need = {.peak = used.peak, .capacity = used.capacity};
      if (phase != Phase::step && tier == Tier::host) need.peak += pieces;
      if (tier != Tier::disk) continue;
      need.peak += on_disk(phase);
      need.capacity = std::max(drive, used.capacity);  // The run may use only a part of the drive.
    }
  }
  return memory;
}

std::vector<std::string> phase_shortages(const PhaseMemory& memory) {
  std::vector<std::string> all;
  for (const Tier tier : {Tier::hbm, Tier::host, Tier::disk}) {
    const PhaseNeed& step = at(memory, Phase::step, tier);
    const PhaseNeed& load = at(memory, Phase::load, tier);
    const PhaseNeed& save = at(memory, Phase::save, tier);
    if (!step.fits() || (load.fits() && save.fits())) continue;
    std::string text = save.fits() ? "to load" : load.fits() ? "to save" : "to load and to save";
    const PhaseNeed& most = save.peak > load.peak ? save : load;
    text += ", " + std::string(to_string(tier)) + " is short by " +
            format_bytes(most.peak - most.capacity) + ": ";
    text += tier == Tier::disk
                ? "keep the run's folder (out) and the state's file (--disk-path) on "
                  "two drives, or take a larger one"
                : "lend the plan that much less (--" + std::string(to_string(tier)) + ")";
    all.push_back(std::move(text));
  }
  return all;
}

SsdWear ssd_wear(const Job& job, const Plan& plan, double endurance) {
  SsdWear wear{.endurance = endurance};
  for (std::size_t unit = 0; unit < plan.units.size(); ++unit) {
    const std::int64_t size = unit_padded_size(job.model, unit);
    if (plan.units[unit].state == Tier::disk) wear.written_a_step += disk_state_bytes(job, size);
    if (plan.units[unit].weights == Tier::disk) wear.written_a_step += job.weight_element() * size;
    if (plan.units[unit].gradients == Tier::disk) {
      // Gradients of earlier rounds are written as running sums, the last as it crosses the link.
      wear.written_a_step +=
          (job.gradient_wire_element() + job.gradient_element() * (plan.rounds - 1)) * size;
    }
  }
  if (wear.written_a_step.count() > 0 && endurance > 0) {
    wear.steps = endurance / static_cast<double>(wear.written_a_step.count());
  }
  wear.checkpoints = endurance / static_cast<double>(checkpoint_bytes(job).count());
  return wear;
}

}  // namespace sluice::planner
