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

enum class Phase { load, step, save };
inline constexpr std::array kPhases = {Phase::load, Phase::step, Phase::save};
const char* to_string(Phase phase);

/// Bytes of one tier that one phase needs and has; the margin is negative where it lacks some.
struct PhaseNeed {
  Bytes peak{0}, capacity{0};
  [[nodiscard]] Bytes margin() const { return capacity - peak; }
  [[nodiscard]] bool fits() const { return peak <= capacity; }
};
/// Needs of a run by Phase, then by Tier.
using PhaseMemory = std::array<std::array<PhaseNeed, kTiers>, kPhases.size()>;
[[nodiscard]] inline const PhaseNeed& at(const PhaseMemory& memory, Phase phase, Tier tier) {
  return memory[static_cast<std::size_t>(phase)][static_cast<std::size_t>(tier)];
}

/// Pieces in which loading and saving pass state through host memory: elements of a piece, largest
/// number of threads, and bytes that a thread holds for each element.
inline constexpr std::int64_t kStatePiece = 1ll << 20, kStateThreads = 32, kStatePieceBytes = 12;

/// Memory of all phases of a run. The arenas have their addresses before the first kernel, so every
/// phase holds them whole. Host memory: loading and saving also hold pieces, for which the
/// process's share has room on a GPU. Disk: the whole drive, beside the plan's file of state.
/// Loading needs the model's folder (2 bytes a parameter, a rule) or the checkpoints of earlier
/// steps; steps need those checkpoints; saving needs all that exist before an old one is removed.
[[nodiscard]] PhaseMemory phase_memory(const Job& job, const Memory& step,
                                       const ResolvedMachine& machine, const SavingPlan& saving);

/// Sentences that say what phases other than steps lack, one a tier, each with what helps: "to
/// save, disk is short by 130 GiB: ...". What steps lack is said of plans.
[[nodiscard]] std::vector<std::string> phase_shortages(const PhaseMemory& memory);

/// How much a run writes to its SSDs, against their rating.
struct SsdWear {
  /// Bytes that a step writes to the disk: state and gradients that live there.
  Bytes written_a_step{0};
  /// Bytes that may be written in the drives' life by their rating; 0 where it is not stated.
  double endurance = 0;
  std::optional<double> steps =
      /// Number of steps, without checkpoints, until that many bytes are written; none where no
      /// step writes or no rating is stated.
      {};
  /// Number of checkpoints, without steps, until that many bytes are written; 0 where no rating is
  /// stated.
  double checkpoints = 0;
};
[[nodiscard]] SsdWear ssd_wear(const Job& job, const Plan& plan, double endurance);

}  // namespace sluice::planner
