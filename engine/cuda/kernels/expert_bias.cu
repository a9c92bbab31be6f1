#include "engine/cuda/kernels/expert_bias.hpp"
#include "engine/cuda/kernels/vector.cuh"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr std::int64_t kColumns = kWarp * kVector;  ///< Number of columns of a block.

__device__ const std::uint16_t* row_of(const IndexedRows& rows, std::int64_t row) {
  const std::int64_t at = rows.index == nullptr ? row : rows.index[row];
  return rows.data + at * rows.stride;
}

/// Block (c, g) adds up the c-th 256 columns of group g's rows; warp w takes every kWarps-th row.
__global__ void __launch_bounds__(kThreads)
    add_groups(IndexedRows d, const float* factor, RowGroups groups, GroupMatrices<float> sums,
               std::int64_t columns, Into into) {
  __shared__ float of_warps[kWarps][kColumns];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t group = blockIdx.y;
  const std::int64_t column = blockIdx.x * kColumns + lane * kVector;
  const std::int64_t begin = groups.begin == nullptr ? 0 : groups.begin[group];
  const std::int64_t end = groups.begin == nullptr ? groups.rows : groups.begin[group + 1];
  Eight sum{};
  if (column < columns) {
    for (std::int64_t row = begin + warp; row < end; row += kWarps) {
      const Eight values = Eight::unpack(load(row_of(d, row), column));
      const float weight = factor == nullptr ? 1.0f : factor[row];
#pragma unroll
      for (int i = 0; i < kVector; ++i) sum.value[i] = fmaf(weight, values.value[i], sum.value[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < kVector; ++i) of_warps[warp][lane * kVector + i] = sum.value[i];
  __syncthreads();
  const int mine = static_cast<int>(threadIdx.x);
  const std::int64_t out = blockIdx.x * kColumns + mine;
  if (out >= columns) return;
  float total = of_warps[0][mine];
  for (int other = 1; other < kWarps; ++other) total += of_warps[other][mine];
  float& stored = sums.data[group * sums.stride + out];
  stored = into == Into::accumulate ? stored + total : total;
}
static_assert(kThreads == kColumns, "one thread adds the warps of one column");

/// Group of a row: the last one that begins at or before it.
__device__ std::int64_t group_of(const RowGroups& groups, std::int64_t row) {
  if (groups.begin == nullptr) return 0;
  std::int64_t low = 0, high = groups.groups;
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    if (groups.begin[middle] <= row) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

/// One warp per row.
__global__ void __launch_bounds__(kThreads)
    add_dots(IndexedRows d, RowGroups groups, GroupBiases biases, std::int64_t columns,
             float* d_share) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t row =
      static_cast<std::int64_t>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / kWarp;
  if (row >= groups.rows) return;
  const std::uint16_t* bias = biases.data + group_of(groups, row) * biases.stride;
  float sum = 0;
  for (std::int64_t column = lane * kVector; column < columns; column += kWarp * kVector) {
    const Eight a = Eight::unpack(load(row_of(d, row), column));
    const Eight b = Eight::unpack(load(bias, column));
#pragma unroll
    for (int i = 0; i < kVector; ++i) sum = fmaf(a.value[i], b.value[i], sum);
  }
  sum = lane_sum(sum);
  if (lane == 0) d_share[row] += sum;
}

void check_rows(const IndexedRows& d, const RowGroups& groups, std::int64_t columns) {
  check(groups.rows > 0 && groups.groups > 0 && groups.groups <= 65535 && columns > 0 &&
            columns % kVector == 0 && d.stride % kVector == 0 && aligned(d.data),
        "experts' rows have sizes that are multiples of 8");
}

}  // namespace

void accumulate_biases(CUstream_st* stream, const IndexedRows& d, const float* factor,
                       const RowGroups& groups, const GroupMatrices<float>& sums,
                       std::int64_t columns, Into into) {
  check_rows(d, groups, columns);
  const dim3 grid(static_cast<unsigned>(ceil_div(columns, kColumns)),
                  static_cast<unsigned>(groups.groups));
  add_groups<<<grid, kThreads, 0, stream>>>(d, factor, groups, sums, columns, into);
  check_launch("accumulate_biases");
}

void add_bias_shares(CUstream_st* stream, const IndexedRows& d, const RowGroups& groups,
                     const GroupBiases& biases, std::int64_t columns, float* d_share) {
  check_rows(d, groups, columns);
  check(aligned(biases.data) && biases.stride % kVector == 0, "biases are 16-byte aligned");
  add_dots<<<static_cast<unsigned>(ceil_div(groups.rows, kWarps)), kThreads, 0, stream>>>(
      d, groups, biases, columns, d_share);
  check_launch("add_bias_shares");
}

}  // namespace sluice::engine::cuda
