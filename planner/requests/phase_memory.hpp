// Needs of a run besides its steps: memory while it loads and saves, checkpoints, and writes to the
// SSD.
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

/// What a run does: load weights and state, take steps, save a checkpoint.
enum class Phase { load, step, save };
inline constexpr std::array kPhases = {Phase::load, Phase::step, Phase::save};
const char* to_string(Phase phase);

/// Bytes of one tier that a phase of a run (Phase) takes at its peak, and that there are.
struct PhaseNeed {
  Bytes peak{0}, capacity{0};
  /// Bytes that are left; negative where some are lacking.
  [[nodiscard]] Bytes margin() const { return capacity - peak; }
  [[nodiscard]] bool fits() const { return peak <= capacity; }
};
/// What a run takes of memory and disk, by Phase, then by Tier.
using PhaseMemory = std::array<std::array<PhaseNeed, kTiers>, kPhases.size()>;
[[nodiscard]] inline const PhaseNeed& at(const PhaseMemory& memory, Phase phase, Tier tier) {
  return memory[static_cast<std::size_t>(phase)][static_cast<std::size_t>(tier)];
}

/// Pieces in which loading and saving pass state through host memory: most elements of a piece,
/// most threads, and bytes that a thread holds for each element of its piece.
inline constexpr std::int64_t kStatePiece = 1ll << 20, kStateThreads = 32, kStatePieceBytes = 12;

/// What each phase of a run takes. `step` is the plan's memory: the arenas are allocated before the
/// first kernel, so every phase holds them whole. Host: loading and saving also hold pieces of
/// state, for which there is room in what is counted for the process on a GPU. Disk: of the whole
/// drive, beside the plan's file of state, loading needs the model's folder (2 bytes a parameter by
/// a rule) or the checkpoints of earlier steps, steps need those checkpoints, and saving needs all
/// that exist before an old one is removed.
[[nodiscard]] PhaseMemory phase_memory(const Job& job, const Memory& step,
                                       const ResolvedMachine& machine, const SavingPlan& saving);

/// A sentence for each tier of which loading or saving takes more than there is, with what helps:
/// "to save, disk is short by 130 GiB: ...". None for a tier that steps exceed, which is said of
/// the plan.
[[nodiscard]] std::vector<std::string> phase_shortages(const PhaseMemory& memory);

/// How much a run writes to its SSDs, against the bytes for which they are rated.
struct SsdWear {
  /// Bytes that a step writes to the disk: optimizer state, weights and gradients that live there.
  Bytes written_a_step{0};
  /// Bytes that may be written in the drives' life by their rating; 0 where no rating is stated.
  double endurance = 0;
  /// Number of steps, without checkpoints, until that many bytes are written; none where no step
  /// writes or no rating is stated.
  std::optional<double> steps = {};
  /// Number of checkpoints, without steps, until that many bytes are written; 0 where no rating is
  /// stated.
  double checkpoints = 0;
};
/// What steps by `plan` and checkpoints write, for drives that may be written `endurance` bytes in
/// their life (0: not stated).
[[nodiscard]] SsdWear ssd_wear(const Job& job, const Plan& plan, double endurance);

}  // namespace sluice::planner
