#include <algorithm>

#include "engine/cuda/kernels/partial_sums.hpp"
#include "engine/cuda/kernels/sinks.hpp"
#include "engine/cuda/kernels/vector.cuh"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;

struct SinkSizes {
  std::int64_t tokens, length;
  int heads, head_dim;

  [[nodiscard]] __device__ std::int64_t lse_at(std::int64_t token, int head) const {
    return (token / length * heads + head) * length + token % length;
  }
};

/// One warp per head of a token.
__global__ void __launch_bounds__(kThreads)
    shrink(SinkSizes sizes, const std::uint16_t* sinks, std::uint16_t* out, float* lse) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t row =
      static_cast<std::int64_t>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / kWarp;
  if (row >= sizes.tokens * sizes.heads) return;
  const auto head = static_cast<int>(row % sizes.heads);
  float& stored = lse[sizes.lse_at(row / sizes.heads, head)];
  const float keys = stored;
  const float sink = low_half(sinks[head]);
  const float most = fmaxf(keys, sink);
  const float joined = most + logf(expf(keys - most) + expf(sink - most));
  const float share = expf(keys - joined);
  __syncwarp();
  if (lane == 0) stored = joined;
  std::uint16_t* values = out + row * sizes.head_dim;
  for (int i = lane * static_cast<int>(kVector); i < sizes.head_dim;
       i += kWarp * static_cast<int>(kVector)) {
    Eight each = Eight::unpack(load(values, i));
#pragma unroll
    for (float& value : each.value) value *= share;
    store(values, i, each.packed());
  }
}

/// Block (b, h) adds up head h of tokens [b * chunk, (b + 1) * chunk); each warp takes every
/// kWarps-th of them.
__global__ void __launch_bounds__(kThreads)
    sum_shares(SinkSizes sizes, std::int64_t chunk, const std::uint16_t* sinks,
               const std::uint16_t* out, const float* lse, const std::uint16_t* d_out,
               float* partials) {
  __shared__ float of_warps[kWarps];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const auto head = static_cast<int>(blockIdx.y);
  const float sink = low_half(sinks[head]);
  const std::int64_t first = blockIdx.x * chunk;
  const std::int64_t end = min(sizes.tokens, first + chunk);
  float sum = 0;
  for (std::int64_t token = first + warp; token < end; token += kWarps) {
    const std::int64_t row = (token * sizes.heads + head) * sizes.head_dim;
    float dot = 0;
    for (int i = lane * static_cast<int>(kVector); i < sizes.head_dim;
         i += kWarp * static_cast<int>(kVector)) {
      const Eight a = Eight::unpack(load(out, row + i));
      const Eight b = Eight::unpack(load(d_out, row + i));
#pragma unroll
      for (int j = 0; j < kVector; ++j) dot = fmaf(a.value[j], b.value[j], dot);
    }
    dot = lane_sum(dot);
    sum -= expf(sink - lse[sizes.lse_at(token, head)]) * dot;
  }
  if (lane == 0) of_warps[warp] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int other = 1; other < kWarps; ++other) sum += of_warps[other];
  partials[static_cast<std::int64_t>(blockIdx.x) * sizes.heads + head] = sum;
}

/// Number of ranges of tokens with a partial sum. It fixes the order of sums, so it does not depend
/// on the device.
std::int64_t ranges(std::int64_t tokens) {
  return std::min<std::int64_t>(ceil_div(tokens, 64), 64);
}

SinkSizes sizes_of(const SinkShape& shape) {
  check(shape.sequences > 0 && shape.length > 0 && shape.heads > 0 && shape.heads <= UINT16_MAX &&
            shape.head_dim > 0 && shape.head_dim % kVector == 0,
        "attention's result has heads of a multiple of 8 elements");
  return {shape.sequences * shape.length, shape.length, static_cast<int>(shape.heads),
          static_cast<int>(shape.head_dim)};
}

}  // namespace

void join_sinks(CUstream_st* stream, const SinkShape& shape, const std::uint16_t* sinks,
                std::uint16_t* out, float* lse) {
  const SinkSizes sizes = sizes_of(shape);
  check(aligned(out), "attention's result is 16-byte aligned");
  const auto blocks = static_cast<unsigned>(ceil_div(sizes.tokens * sizes.heads, kWarps));
  shrink<<<blocks, kThreads, 0, stream>>>(sizes, sinks, out, lse);
  check_launch("join_sinks");
}

void sinks_backward(CUstream_st* stream, const SinkShape& shape, const std::uint16_t* sinks,
                    const std::uint16_t* out, const float* lse, const std::uint16_t* d_out,
                    float* d_sinks, Into into, void* workspace) {
  const SinkSizes sizes = sizes_of(shape);
  check(aligned(out, d_out), "attention's result is 16-byte aligned");
  const std::int64_t parts = ranges(sizes.tokens);
  auto* partials = static_cast<float*>(workspace);
  sum_shares<<<dim3(static_cast<unsigned>(parts), static_cast<unsigned>(sizes.heads)), kThreads, 0,
               stream>>>(sizes, ceil_div(sizes.tokens, parts), sinks, out, lse, d_out, partials);
  check_launch("sinks_backward");
  sum_partials(stream, partials, parts, sizes.heads, d_sinks, into);
}

Bytes sinks_workspace(const SinkShape& shape) {
  return Bytes(ranges(shape.sequences * shape.length) * shape.heads *
               static_cast<std::int64_t>(sizeof(float)));
}

}  // namespace sluice::engine::cuda
