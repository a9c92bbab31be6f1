#include "planner/phase_memory.hpp"

#include <algorithm>

#include "planner/disk_state.hpp"

namespace sluice::planner {
namespace {

constexpr std::int64_t kStateBytes = 12;  ///< Master, m and v of a parameter.
constexpr std::int64_t kLargestPiece = 1 << 30;

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

Bytes checkpoint_bytes(const Job& job) {
  const std::int64_t parameters = parameter_count(job.model);
  return job.master_bytes(parameters) + job.moment_bytes(parameters) * 2;
}

PhaseMemory phase_memory(const Job& job, const Memory& step) {
  std::int64_t largest = 0;
  for (std::size_t unit = 0; unit < unit_count(job.model); ++unit) {
    largest = std::max(largest, unit_padded_size(job.model, unit));
  }
  const Bytes window(std::min(kStateBytes * largest, kLargestPiece));
  const Bytes checkpoint = checkpoint_bytes(job);
  PhaseMemory memory;
  for (const Phase phase : kPhases) {
    for (const Tier tier : {Tier::hbm, Tier::host, Tier::disk}) {
      const TierMemory& used = at(step, tier);
      PhaseNeed& need = memory[static_cast<std::size_t>(phase)][static_cast<std::size_t>(tier)];
      need = {.peak = used.peak, .capacity = used.capacity};
      if (phase != Phase::step && tier == Tier::host) need.peak += window;
      if (tier == Tier::disk) need.peak += phase == Phase::save ? checkpoint * 2 : checkpoint;
    }
  }
  return memory;
}

SsdWear ssd_wear(const Job& job, const Plan& plan, double endurance) {
  SsdWear wear{.endurance = endurance};
  for (std::size_t unit = 0; unit < plan.units.size(); ++unit) {
    const std::int64_t size = unit_padded_size(job.model, unit);
    if (plan.units[unit].state == Tier::disk) wear.written_a_step += disk_element(job) * size;
    if (plan.units[unit].weights == Tier::disk) wear.written_a_step += job.weight_element() * size;
    if (plan.units[unit].gradients == Tier::disk) {
      // Sums of earlier rounds as they are added up, the last as it crosses the link.
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
