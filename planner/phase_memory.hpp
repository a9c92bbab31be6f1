// What a run needs besides its steps: memory while it loads and saves, checkpoints, and what it
// writes to the SSD.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "planner/job.hpp"
#include "planner/memory.hpp"
#include "planner/plan.hpp"

namespace sluice::planner {

enum class Phase { load, step, save };
inline constexpr std::array kPhases = {Phase::load, Phase::step, Phase::save};
const char* to_string(Phase phase);

/// Bytes of a tier that a phase needs, and what is left (negative: short by that much).
struct PhaseNeed {
  Bytes peak{0}, capacity{0};
  [[nodiscard]] Bytes margin() const { return capacity - peak; }
  [[nodiscard]] bool fits() const { return peak <= capacity; }
};
using PhaseMemory = std::array<std::array<PhaseNeed, kTiers>, kPhases.size()>;  ///< By Phase, Tier.
[[nodiscard]] inline const PhaseNeed& at(const PhaseMemory& memory, Phase phase, Tier tier) {
  return memory[static_cast<std::size_t>(phase)][static_cast<std::size_t>(tier)];
}

/// Master weights, m and v of every parameter: 12 bytes each in fp32.
[[nodiscard]] Bytes checkpoint_bytes(const Job& job);

/// The arenas have their addresses before the first kernel, so that every phase holds them whole.
/// Load and save pass state through host memory beside them in pieces of at most a GiB (a rule:
/// the largest unit's 12 bytes a parameter where that is less). Load reads a checkpoint that lies
/// on the disk; save writes a second one before it drops the first.
[[nodiscard]] PhaseMemory phase_memory(const Job& job, const Memory& step);

/// Writes of the run to the SSD against its rating.
struct SsdWear {
  Bytes written_a_step{0};  ///< By the plan: state and gradients that live on the disk.
  double endurance = 0;     ///< Bytes the drives are rated for; 0: not stated.
  std::optional<double> steps =
      {};                  ///< Until then by steps alone; none: no step writes, or no rating.
  double checkpoints = 0;  ///< Until then by checkpoints alone.
};
[[nodiscard]] SsdWear ssd_wear(const Job& job, const Plan& plan, double endurance);

}  // namespace sluice::planner
