#include "engine/cuda/kernels/partial_sums.hpp"
#include "engine/cuda/kernels/vector.cuh"

namespace sluice::engine::cuda {
namespace {

constexpr int kGroups = 16;  ///< Number of warps in a block; warp g adds rows g, g + 16, ...

__global__ void __launch_bounds__(kGroups* kWarp)
    add_rows(const float* partials, std::int64_t parts, std::int64_t columns, float* sums,
             Into into) {
  __shared__ float group_sums[kGroups][kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int group = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kWarp + lane;
  float sum = 0;
  if (column < columns) {
#pragma unroll 8
    for (std::int64_t part = group; part < parts; part += kGroups) {
      sum += partials[part * columns + column];
    }
  }
  group_sums[group][lane] = sum;
  __syncthreads();
  if (group != 0 || column >= columns) return;
  for (int g = 1; g < kGroups; ++g) sum += group_sums[g][lane];
  sums[column] = into == Into::accumulate ? sums[column] + sum : sum;
}

}  // namespace

void sum_partials(CUstream_st* stream, const float* partials, std::int64_t parts,
                  std::int64_t columns, float* sums, Into into) {
  add_rows<<<static_cast<unsigned>(ceil_div(columns, kWarp)), kGroups * kWarp, 0, stream>>>(
      partials, parts, columns, sums, into);
  check_launch("sum_partials");
}

}  // namespace sluice::engine::cuda
