// The memory a plan takes, tier by tier, as tables show it.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/graph/step_graph.hpp"
#include "planner/machines/machine.hpp"
#include "planner/machines/resolved_machine.hpp"
#include "planner/plans/plan.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Resident host memory of the process besides its arenas: program, libraries, thread stacks,
/// matrix product buffers, the data file's window. Measured on the host backend (x86-64, OpenBLAS
/// 0.3, one BLAS thread): 13 MiB for a small model, more as matrix products grow.
inline constexpr Bytes kProcessBaseline = Bytes(32ll << 20);
/// The same with a CUDA context and its libraries (estimated): runs of 0.5 to 3 B on H200s held
/// 0.33 to 0.51 GiB besides their arenas (experiments/results/current/train-3b-with-checkpoints,
/// small-llama and rehearsal-7b beside it).
inline constexpr Bytes kCudaProcessBaseline = Bytes(1ll << 30);
/// Of these baselines, what a process that stands between two steps does not use itself.
inline constexpr Bytes kProcessSpare = Bytes(19ll << 20), kCudaProcessSpare = Bytes(384ll << 20);
[[nodiscard]] constexpr Bytes process_bytes(DeviceKind device) {
  return device == DeviceKind::cuda ? kCudaProcessBaseline : kProcessBaseline;
}
/// Device memory that a CUDA context and its libraries take outside the arena where the profile
/// does not say (estimated).
inline constexpr Bytes kCudaContext = Bytes(640ll << 20);
/// Device memory outside the arena that no job changes: the profile's `context`; none on the host
/// backend.
[[nodiscard]] Bytes context_bytes(const MachineProfile& profile);
/// All device memory outside the arena: the context and RoPE tables; none on the host backend.
[[nodiscard]] Bytes outside_arena_bytes(const Job& job, const MachineProfile& profile);

/// Device memory for the entries by which a GPU reaches so much of the host arena: 8 bytes for each
/// pinned page of 4 KiB, as 19 runs on H200s held (docs/design/device-memory.md). None on the host
/// backend, nor where copies go through a ring and nothing else is pinned.
[[nodiscard]] Bytes page_table_bytes(const ResolvedMachine& machine, Bytes host_arena);
/// The same, bytes for each byte of the host arena.
[[nodiscard]] double page_table_share(const ResolvedMachine& machine);

struct TierMemory {
  Bytes peak{0};
  Bytes capacity{0};
  /// Rows that sum to `peak`: bytes shared by several tensors count once, for what is persistent
  /// first and then for the larger tensor.
  std::vector<std::pair<std::string, Bytes>> parts;
  [[nodiscard]] bool fits() const { return peak <= capacity; }
  [[nodiscard]] Bytes missing() const { return fits() ? Bytes(0) : peak - capacity; }
};

inline constexpr std::size_t kTiers = 3;
using Memory = std::array<TierMemory, kTiers>;  ///< By Tier.

[[nodiscard]] inline TierMemory& at(Memory& memory, Tier tier) {
  return memory[static_cast<std::size_t>(tier)];
}
[[nodiscard]] inline const TierMemory& at(const Memory& memory, Tier tier) {
  return memory[static_cast<std::size_t>(tier)];
}

/// The tier that lacks the largest share, if any, with what it lacks.
[[nodiscard]] std::optional<std::pair<Tier, Bytes>> shortage_of(const Memory& memory);

/// hbm: device arena (on a GPU also its context, page tables and RoPE tables); host: host arena and
/// the process; disk: the file of state, without checkpoints. On the host backend the device arena
/// counts as hbm, although the process holds it.
[[nodiscard]] Memory memory_of(const StepGraph& graph, const ResolvedMachine& machine);

/// Bytes of `arena` by part (TierMemory::parts).
[[nodiscard]] std::vector<std::pair<std::string, Bytes>> arena_parts(const StepGraph& graph,
                                                                     Arena arena);

}  // namespace sluice::planner
