// What a run needs besides its steps: memory while it loads and saves, checkpoints, and what it
// writes to the SSD.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "planner/layout/memory.hpp"
#include "planner/models/job.hpp"
#include "planner/plans/plan.hpp"
#include "planner/requests/saving_plan.hpp"

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

/// Load and save pass state through host memory in pieces of so many elements, on at most so many
/// threads, each of which holds kStatePieceBytes an element.
inline constexpr std::int64_t kStatePiece = 1ll << 20, kStateThreads = 32, kStatePieceBytes = 12;

/// The arenas have their addresses before the first kernel, so that every phase holds them whole.
/// Host memory: load and save hold the pieces besides, for which the process' share has room on a
/// GPU. Disk: of the whole drive, beside the plan's file of state: to load, the model's folder (2
/// bytes a parameter, a rule) or the checkpoints of earlier steps; between saves, those
/// checkpoints; to save, all that lie there before an old one goes.
[[nodiscard]] PhaseMemory phase_memory(const Job& job, const Memory& step,
                                       const ResolvedMachine& machine, const SavingPlan& saving);

/// What phases other than steps lack, a sentence a tier, each with what helps: "to save, disk is
/// short by 130 GiB: ...". Steps' own shortages are those of plans.
[[nodiscard]] std::vector<std::string> phase_shortages(const PhaseMemory& memory);

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
