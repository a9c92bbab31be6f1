// Memory that a plan takes, tier by tier, as tables show it.
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

/// Resident host memory of the process besides its arenas, on the host backend: program, libraries,
/// thread stacks, matrix product buffers, the data file's window. Source: 13 MiB measured for a
/// small model (x86-64, OpenBLAS 0.3, one BLAS thread), more as matrix products grow.
inline constexpr Bytes kProcessBaseline = Bytes(32ll << 20);
/// Resident host memory of the process besides its arenas, with a CUDA context and its libraries;
/// an estimate above the 0.33 to 0.51 GiB of runs of 0.5 to 3 B on H200s
/// (experiments/results/current/train-3b-with-checkpoints, small-llama and rehearsal-7b beside it).
inline constexpr Bytes kCudaProcessBaseline = Bytes(1ll << 30);
/// Bytes of kProcessBaseline, and of kCudaProcessBaseline, that a process does not use between two
/// steps.
inline constexpr Bytes kProcessSpare = Bytes(19ll << 20), kCudaProcessSpare = Bytes(384ll << 20);
[[nodiscard]] constexpr Bytes process_bytes(DeviceKind device) {
  return device == DeviceKind::cuda ? kCudaProcessBaseline : kProcessBaseline;
}
/// Device memory that a CUDA context and its libraries take outside the arena; an estimate for
/// profiles that do not say.
inline constexpr Bytes kCudaContext = Bytes(640ll << 20);
/// Device memory outside the arena that is the same for all jobs: the profile's `context`,
/// kCudaContext where it has none; 0 on the host backend.
[[nodiscard]] Bytes context_bytes(const MachineProfile& profile);
/// All device memory outside the arena: the context and RoPE tables; 0 on the host backend.
[[nodiscard]] Bytes outside_arena_bytes(const Job& job, const MachineProfile& profile);

/// Device memory for the page table entries by which a GPU reaches `host_arena` bytes of pinned
/// memory: 8 bytes a page of 4 KiB (docs/design/device-memory.md). 0 on the host backend, and where
/// copies go through a ring and nothing else is pinned.
[[nodiscard]] Bytes page_table_bytes(const ResolvedMachine& machine, Bytes host_arena);
/// Bytes of page table entries (page_table_bytes) for each byte of the host arena, as a ratio.
[[nodiscard]] double page_table_share(const ResolvedMachine& machine);

struct TierMemory {
  Bytes peak{0};
  Bytes capacity{0};
  /// Rows of the memory table by name, which sum to `peak`. Bytes that several tensors share count
  /// once: in the row of a persistent tensor, else in that of the largest.
  std::vector<std::pair<std::string, Bytes>> parts;
  [[nodiscard]] bool fits() const { return peak <= capacity; }
  [[nodiscard]] Bytes missing() const { return fits() ? Bytes(0) : peak - capacity; }
};

inline constexpr std::size_t kTiers = 3;
using Memory = std::array<TierMemory, kTiers>;  ///< What a plan takes of every tier, beside the
                                                ///< tier's capacity; indexed by Tier.

[[nodiscard]] inline TierMemory& at(Memory& memory, Tier tier) {
  return memory[static_cast<std::size_t>(tier)];
}
[[nodiscard]] inline const TierMemory& at(const Memory& memory, Tier tier) {
  return memory[static_cast<std::size_t>(tier)];
}

/// The tier that lacks the largest share of what it needs, and the bytes that it lacks; none where
/// every tier fits.
[[nodiscard]] std::optional<std::pair<Tier, Bytes>> shortage_of(const Memory& memory);

/// Memory that the plan of `graph` takes of every tier: of the memory of each GPU, and for all
/// ranks together of the host's and the disk. hbm: device arena, and on a GPU its context, page
/// tables and RoPE tables; host: host arena and the process; disk: the file of state, without
/// checkpoints. On the host backend the device arena counts as hbm, although the process holds it.
[[nodiscard]] Memory memory_of(const StepGraph& graph, const ResolvedMachine& machine);

/// Bytes of `arena` at its peak, by row of the memory table (TierMemory::parts).
[[nodiscard]] std::vector<std::pair<std::string, Bytes>> arena_parts(const StepGraph& graph,
                                                                     Arena arena);

}  // namespace sluice::planner
