// How long attention takes on a CUDA device where scores lie in memory between products of tiles
// (planner/scratch/tiled_attention.hpp).
#pragma once

#include "planner/kernels/kernel_work.hpp"
#include "planner/machines/machine.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// What the kernels of one pass compute and move: FLOPs of products of whole tiles that hold a
/// visible score, and bytes of arrays of scores that they write and read.
struct TiledWork {
  Flops products;
  Bytes scores;
};
[[nodiscard]] TiledWork tiled_work(const AttentionWork& attention);

/// Relative standard deviation of tiled_time: its rate is of one GPU and one size of heads.
inline constexpr double kTiledDeviation = 0.35;
/// Products at a share of the rate of the machine's fastest matrix product, and scores at its
/// memory's. The share is twice what gemma-3-4b's step on an H200 left for kernels that were half
/// as fast (experiments/results/current/families-on-a-gpu and experts-products).
[[nodiscard]] Seconds tiled_time(const MachineProfile& profile, const AttentionWork& attention);

}  // namespace sluice::planner
