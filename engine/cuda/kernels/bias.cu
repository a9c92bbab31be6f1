#include <algorithm>

#include "engine/cuda/kernels/bias.hpp"
#include "engine/cuda/kernels/partial_sums.hpp"
#include "engine/cuda/kernels/vector.cuh"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

/// Number of warps in a block, which share its rows.
constexpr int kGroups = 8;
constexpr std::int64_t kTile = kWarp * kVector;  ///< Number of columns of a block.

/// Block (c, s) adds up rows [s * rows_each, (s + 1) * rows_each) of the c-th 256 columns.
__global__ void __launch_bounds__(kGroups* kWarp)
    add_columns(const std::uint16_t* d, std::int64_t tokens, std::int64_t columns,
                std::int64_t stride, std::int64_t rows_each, float* partials) {
  __shared__ float group_sums[kGroups][kTile];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int group = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t column = blockIdx.x * kTile + lane * kVector;
  const std::int64_t begin = blockIdx.y * rows_each;
  const std::int64_t end = min(tokens, begin + rows_each);
  Eight sum{};
  if (column < columns) {
#pragma unroll 4
    for (std::int64_t row = begin + group; row < end; row += kGroups) {
      const Eight values = Eight::unpack(load(d, row * stride + column));
#pragma unroll
      for (int i = 0; i < kVector; ++i) sum.value[i] += values.value[i];
    }
  }
#pragma unroll
  for (int i = 0; i < kVector; ++i) group_sums[group][lane * kVector + i] = sum.value[i];
  __syncthreads();
  const int mine = static_cast<int>(threadIdx.x);
  const std::int64_t out = blockIdx.x * kTile + mine;
  if (out >= columns) return;
  float total = group_sums[0][mine];
  for (int g = 1; g < kGroups; ++g) total += group_sums[g][mine];
  partials[blockIdx.y * columns + out] = total;
}
static_assert(kGroups * kWarp == kTile, "one thread adds the groups of one column");

constexpr int kThreads = 128;

__global__ void __launch_bounds__(kThreads)
    add_to_rows(const std::uint16_t* bias, std::int64_t columns, std::int64_t stride,
                unsigned column_blocks, std::uint16_t* y) {
  const std::int64_t column =
      (static_cast<std::int64_t>(blockIdx.x % column_blocks) * kThreads + threadIdx.x) * kVector;
  if (column >= columns) return;
  const std::int64_t index = blockIdx.x / column_blocks * stride + column;
  Eight values = Eight::unpack(load(y, index));
  const Eight b = Eight::unpack(load(bias, column));
#pragma unroll
  for (int i = 0; i < kVector; ++i) values.value[i] += b.value[i];
  store(y, index, values.packed());
}

/// Number of row ranges with a partial sum. It fixes the order of sums, so it does not depend on
/// the device.
std::int64_t splits(std::int64_t tokens) {
  return std::min<std::int64_t>(ceil_div(tokens, 64), 64);
}

void check_matrix(std::int64_t tokens, std::int64_t columns, std::int64_t stride) {
  check(tokens > 0, "a matrix has rows");
  check(columns > 0 && columns % kVector == 0 && stride % kVector == 0 && stride >= columns,
        "columns and row stride are multiples of 8");
}

}  // namespace

void add_bias(CUstream_st* stream, const std::uint16_t* bias, std::int64_t tokens,
              std::int64_t columns, std::int64_t stride, std::uint16_t* y) {
  check_matrix(tokens, columns, stride);
  check(aligned(bias, y), "the operands of a bias are 16-byte aligned");
  const std::int64_t column_blocks = ceil_div(columns / kVector, kThreads);
  add_to_rows<<<static_cast<unsigned>(column_blocks * tokens), kThreads, 0, stream>>>(
      bias, columns, stride, static_cast<unsigned>(column_blocks), y);
  check_launch("add_bias");
}

void column_sum(CUstream_st* stream, const std::uint16_t* d, std::int64_t tokens,
                std::int64_t columns, std::int64_t stride, float* sums, Into into,
                void* workspace) {
  check_matrix(tokens, columns, stride);
  check(aligned(d), "the operand of a column sum is 16-byte aligned");
  const std::int64_t parts = splits(tokens);
  const dim3 grid(static_cast<unsigned>(ceil_div(columns, kTile)), static_cast<unsigned>(parts));
  auto* partials = static_cast<float*>(workspace);
  add_columns<<<grid, kGroups * kWarp, 0, stream>>>(d, tokens, columns, stride,
                                                    ceil_div(tokens, parts), partials);
  check_launch("column_sum");
  sum_partials(stream, partials, parts, columns, sums, into);
}

Bytes column_sum_workspace(std::int64_t tokens, std::int64_t columns) {
  return Bytes(splits(tokens) * columns * static_cast<std::int64_t>(sizeof(float)));
}

}  // namespace sluice::engine::cuda
