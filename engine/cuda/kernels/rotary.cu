#include "engine/cuda/kernels/rotary.hpp"
#include "engine/cuda/kernels/rotary_heads.cuh"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

/// Reciprocal root mean square of `count` neighbouring elements, from all threads of the block.
__device__ float row_scale(const std::uint16_t* row, int count, float eps, float* scratch) {
  float squares = 0;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kRotaryThreads) {
    const float value = low_half(row[i]);
    squares = fmaf(value, value, squares);
  }
  const float mean = block_sum(squares, scratch) / static_cast<float>(count);
  __syncthreads();
  return 1.0f / sqrtf(mean + eps);
}

/// One warp turns one head of one token.
__device__ void turn_head(const RotarySizes& sizes, const RopeTables& tables,
                          const RotaryHeads& all, std::int64_t token, int head, float scale,
                          float eps) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t offset = static_cast<std::int64_t>(head) * sizes.head_dim;
  const std::uint16_t* in = all.projected + token * all.projected_stride + offset;
  std::uint16_t* out = all.turned + token * all.turned_stride + offset;
  const int position = sizes.position(token);
  const float growth = all.queries ? sizes.growth_at(position) : 1.0f;
  float2 x[kMostSlots];
  float squares = 0;
#pragma unroll
  for (int s = 0; s < kMostSlots; ++s) {
    const int i = lane + s * kWarp;
    x[s] = make_float2(0, 0);
    if (2 * i >= sizes.head_dim) continue;
    const int2 at = sizes.elements(i);
    x[s] = make_float2(low_half(in[at.x]), low_half(in[at.y]));
    squares = fmaf(x[s].x, x[s].x, squares);
    squares = fmaf(x[s].y, x[s].y, squares);
  }
  if (sizes.normed && !sizes.full_width) {
    scale = 1.0f / sqrtf(lane_sum(squares) / static_cast<float>(sizes.head_dim) + eps);
    if (lane == 0 && all.scales != nullptr) all.scales[token * all.heads + head] = scale;
  }
  const std::uint16_t* weight = all.weight;
  if (weight != nullptr && sizes.full_width) weight += offset;
#pragma unroll
  for (int s = 0; s < kMostSlots; ++s) {
    const int i = lane + s * kWarp;
    if (2 * i >= sizes.head_dim) continue;
    const int2 at = sizes.elements(i);
    float2 y = x[s];
    if (sizes.normed) {
      y.x = rounded(y.x * scale * sizes.factor(weight, at.x));
      y.y = rounded(y.y * scale * sizes.factor(weight, at.y));
    }
    if (i < sizes.pairs) {
      const std::int64_t angle = static_cast<std::int64_t>(position) * sizes.pairs + i;
      const float cos = tables.cos[angle], sin = tables.sin[angle];
      y = make_float2(rounded(y.x * cos - y.y * sin), rounded(y.y * cos + y.x * sin));
    }
    out[at.x] = half_of(y.x * growth);
    out[at.y] = half_of(y.y * growth);
  }
}

/// One block per token; its warps take the heads of q, then those of k, in turn.
__global__ void __launch_bounds__(kRotaryThreads)
    turn_token(RotarySizes sizes, RopeTables tables, RotaryHeads q, RotaryHeads k, float eps) {
  __shared__ float scratch[kWarp];
  const std::int64_t token = blockIdx.x;
  float q_scale = 0, k_scale = 0;
  if (sizes.full_width) {
    q_scale =
        row_scale(q.projected + token * q.projected_stride, q.heads * sizes.head_dim, eps, scratch);
    k_scale =
        row_scale(k.projected + token * k.projected_stride, k.heads * sizes.head_dim, eps, scratch);
    if (threadIdx.x == 0 && q.scales != nullptr) {
      q.scales[token] = q_scale;
      k.scales[token] = k_scale;
    }
  }
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  for (int head = warp; head < q.heads + k.heads; head += kRotaryWarps) {
    if (head < q.heads) {
      turn_head(sizes, tables, q, token, head, q_scale, eps);
    } else {
      turn_head(sizes, tables, k, token, head - q.heads, k_scale, eps);
    }
  }
}

}  // namespace

void rotary_forward(CUstream_st* stream, const RotaryShape& shape, const RopeTables& tables,
                    std::int64_t first, const HeadNorms& norms, const ConstQueryKey& projected,
                    const QueryKey& rotated, const HeadScales& scales) {
  const RotarySizes sizes = rotary_sizes(shape, first);
  const RotaryHeads q{projected.q,
                      rotated.q,
                      projected.q_stride,
                      rotated.q_stride,
                      norms.q,
                      scales.q,
                      static_cast<int>(shape.heads.heads),
                      true};
  const RotaryHeads k{projected.k,
                      rotated.k,
                      projected.k_stride,
                      rotated.k_stride,
                      norms.k,
                      scales.k,
                      static_cast<int>(shape.heads.kv_heads),
                      false};
  turn_token<<<static_cast<unsigned>(shape.heads.tokens), kRotaryThreads, 0, stream>>>(
      sizes, tables, q, k, norms.eps);
  check_launch("rotary_forward");
}

}  // namespace sluice::engine::cuda
