#include <algorithm>

#include "engine/cuda/kernels/partial_sums.hpp"
#include "engine/cuda/kernels/rotary.hpp"
#include "engine/cuda/kernels/rotary_heads.cuh"
#include "sim/error.hpp"

namespace sluice::engine::cuda {

RotarySizes rotary_sizes(const RotaryShape& shape, std::int64_t first) {
  const RopeShape& heads = shape.heads;
  check(heads.tokens > 0 && heads.tokens <= INT32_MAX && heads.seq_len > 0, "there are tokens");
  check(heads.head_dim > 0 && heads.head_dim % 2 == 0 && heads.head_dim <= kMostRotaryHead,
        "a head has an even number of elements, at most 512");
  check(2 * shape.pairs <= heads.head_dim, "no more elements turn than a head has");
  check(shape.query_growth == 0 || shape.query_growth_from > 0, "queries grow from a position on");
  return {.tokens = heads.tokens,
          .first = first,
          .seq_len = static_cast<int>(heads.seq_len),
          .head_dim = static_cast<int>(heads.head_dim),
          .pairs = static_cast<int>(shape.pairs),
          .normed = shape.norm != planner::HeadNorm::none,
          .full_width = shape.norm == planner::HeadNorm::full_width,
          .one_plus = shape.factor == NormFactor::one_plus_weight,
          .growth = shape.query_growth,
          .growth_from = static_cast<int>(shape.query_growth_from),
          .starts = heads.starts};
}

namespace {

/// The gradient of a head before its rotation, and the head itself.
struct TurnedBack {
  float2 d[kMostSlots], x[kMostSlots];
};

__device__ TurnedBack turn_back(const RotarySizes& sizes, const RopeTables& tables,
                                const RotaryHeads& all, std::int64_t token, int head) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t offset = static_cast<std::int64_t>(head) * sizes.head_dim;
  const std::uint16_t* gradient = all.turned + token * all.turned_stride + offset;
  const int position = sizes.position(token);
  const float growth = all.queries ? sizes.growth_at(position) : 1.0f;
  TurnedBack back{};
#pragma unroll
  for (int s = 0; s < kMostSlots; ++s) {
    const int i = lane + s * kWarp;
    if (2 * i >= sizes.head_dim) continue;
    const int2 at = sizes.elements(i);
    float2 d = make_float2(low_half(gradient[at.x]), low_half(gradient[at.y]));
    if (growth != 1.0f) d = make_float2(rounded(d.x * growth), rounded(d.y * growth));
    if (i < sizes.pairs) {
      const std::int64_t angle = static_cast<std::int64_t>(position) * sizes.pairs + i;
      const float cos = tables.cos[angle], sin = tables.sin[angle];
      d = make_float2(d.x * cos + d.y * sin, d.y * cos - d.x * sin);
    }
    back.d[s] = d;
    if (!sizes.normed) continue;
    const std::uint16_t* in = all.projected + token * all.projected_stride + offset;
    back.x[s] = make_float2(low_half(in[at.x]), low_half(in[at.y]));
  }
  return back;
}

/// Sum over this lane's elements of d * weight * x.
__device__ float dot_of(const RotarySizes& sizes, const TurnedBack& back,
                        const std::uint16_t* weight) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  float dot = 0;
#pragma unroll
  for (int s = 0; s < kMostSlots; ++s) {
    const int i = lane + s * kWarp;
    if (2 * i >= sizes.head_dim) continue;
    const int2 at = sizes.elements(i);
    dot = fmaf(back.d[s].x * sizes.factor(weight, at.x), back.x[s].x, dot);
    dot = fmaf(back.d[s].y * sizes.factor(weight, at.y), back.x[s].y, dot);
  }
  return dot;
}

/// Writes the gradient of the projected head: y = x s w gives dx = s d w - x s^3 mean(d w x).
__device__ void write_head(const RotarySizes& sizes, const RotaryHeads& all, std::int64_t token,
                           int head, const TurnedBack& back, const std::uint16_t* weight,
                           float scale, float mean) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  std::uint16_t* gradient =
      all.turned + token * all.turned_stride + static_cast<std::int64_t>(head) * sizes.head_dim;
  const float shrink = scale * scale * scale * mean;
#pragma unroll
  for (int s = 0; s < kMostSlots; ++s) {
    const int i = lane + s * kWarp;
    if (2 * i >= sizes.head_dim) continue;
    const int2 at = sizes.elements(i);
    float2 d = back.d[s];
    if (sizes.normed) {
      d.x = fmaf(d.x * sizes.factor(weight, at.x), scale, -(back.x[s].x * shrink));
      d.y = fmaf(d.y * sizes.factor(weight, at.y), scale, -(back.x[s].y * shrink));
    }
    gradient[at.x] = half_of(d.x);
    gradient[at.y] = half_of(d.y);
  }
}

/// Backward pass without norms: one block per token.
__global__ void __launch_bounds__(kRotaryThreads)
    turn_back_token(RotarySizes sizes, RopeTables tables, RotaryHeads q, RotaryHeads k) {
  const std::int64_t token = blockIdx.x;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  for (int head = warp; head < q.heads + k.heads; head += kRotaryWarps) {
    const RotaryHeads& all = head < q.heads ? q : k;
    const int own = head < q.heads ? head : head - q.heads;
    write_head(sizes, all, token, own, turn_back(sizes, tables, all, token, own), nullptr, 0, 0);
  }
}

/// Norms over each head: block b takes tokens b, b + gridDim, ..., of q if blockIdx.y is 0, else of
/// k, and leaves its sum for the weight's gradient in partials[b].
__global__ void __launch_bounds__(kRotaryThreads)
    heads_backward(RotarySizes sizes, RopeTables tables, RotaryHeads q, RotaryHeads k,
                   float* q_partials, float* k_partials) {
  __shared__ float sums[kRotaryWarps][kMostRotaryHead];
  const RotaryHeads all = blockIdx.y == 0 ? q : k;
  float* partials = blockIdx.y == 0 ? q_partials : k_partials;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  float2 d_weight[kMostSlots] = {};
  for (std::int64_t token = blockIdx.x; token < sizes.tokens; token += gridDim.x) {
    for (int head = warp; head < all.heads; head += kRotaryWarps) {
      const TurnedBack back = turn_back(sizes, tables, all, token, head);
      const float scale = all.scales[token * all.heads + head];
      const float dot = lane_sum(dot_of(sizes, back, all.weight));
#pragma unroll
      for (int s = 0; s < kMostSlots; ++s) {
        d_weight[s].x = fmaf(back.d[s].x * back.x[s].x, scale, d_weight[s].x);
        d_weight[s].y = fmaf(back.d[s].y * back.x[s].y, scale, d_weight[s].y);
      }
      write_head(sizes, all, token, head, back, all.weight, scale,
                 dot / static_cast<float>(sizes.head_dim));
    }
  }
  if (all.weight == nullptr) return;
#pragma unroll
  for (int s = 0; s < kMostSlots; ++s) {
    const int i = lane + s * kWarp;
    if (2 * i >= sizes.head_dim) continue;
    const int2 at = sizes.elements(i);
    sums[warp][at.x] = d_weight[s].x;
    sums[warp][at.y] = d_weight[s].y;
  }
  __syncthreads();
  for (int column = static_cast<int>(threadIdx.x); column < sizes.head_dim;
       column += kRotaryThreads) {
    float sum = sums[0][column];
    for (int w = 1; w < kRotaryWarps; ++w) sum += sums[w][column];
    partials[static_cast<std::int64_t>(blockIdx.x) * sizes.head_dim + column] = sum;
  }
}

/// Norms over all heads together, likewise: every element has a weight of its own, whose sum over
/// the block's tokens the same lane adds up in `partials`.
__global__ void __launch_bounds__(kRotaryThreads)
    rows_backward(RotarySizes sizes, RopeTables tables, RotaryHeads q, RotaryHeads k,
                  float* q_partials, float* k_partials) {
  __shared__ float scratch[kWarp];
  const RotaryHeads all = blockIdx.y == 0 ? q : k;
  const int width = all.heads * sizes.head_dim;
  float* partials =
      (blockIdx.y == 0 ? q_partials : k_partials) + static_cast<std::int64_t>(blockIdx.x) * width;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  for (std::int64_t token = blockIdx.x; token < sizes.tokens; token += gridDim.x) {
    const float scale = all.scales[token];
    float dot = 0;
    for (int head = warp; head < all.heads; head += kRotaryWarps) {
      const TurnedBack back = turn_back(sizes, tables, all, token, head);
      const std::uint16_t* weight = all.weight + static_cast<std::int64_t>(head) * sizes.head_dim;
      dot += dot_of(sizes, back, weight);
    }
    const float mean = block_sum(dot, scratch) / static_cast<float>(width);
    __syncthreads();
    for (int head = warp; head < all.heads; head += kRotaryWarps) {
      const std::int64_t offset = static_cast<std::int64_t>(head) * sizes.head_dim;
      const TurnedBack back = turn_back(sizes, tables, all, token, head);
      float* own = partials + offset;
      const bool first = token == blockIdx.x;
#pragma unroll
      for (int s = 0; s < kMostSlots; ++s) {
        const int i = lane + s * kWarp;
        if (2 * i >= sizes.head_dim) continue;
        const int2 at = sizes.elements(i);
        own[at.x] = fmaf(back.d[s].x * back.x[s].x, scale, first ? 0.0f : own[at.x]);
        own[at.y] = fmaf(back.d[s].y * back.x[s].y, scale, first ? 0.0f : own[at.y]);
      }
      __syncwarp();
      write_head(sizes, all, token, head, back, all.weight + offset, scale, mean);
    }
  }
}

/// Number of blocks, which fixes the order of sums and so does not depend on the device.
std::int64_t backward_blocks(std::int64_t tokens) { return std::min<std::int64_t>(tokens, 264); }

}  // namespace

void rotary_backward(CUstream_st* stream, const RotaryShape& shape, const RopeTables& tables,
                     const HeadNorms& norms, const HeadNormGradients& norm_gradients,
                     const QueryKey& gradient) {
  const RotarySizes sizes = rotary_sizes(shape, 0);
  const ConstQueryKey& projected = norm_gradients.projected;
  const RotaryHeads q{projected.q,
                      gradient.q,
                      projected.q_stride,
                      gradient.q_stride,
                      norms.q,
                      norm_gradients.scales.q,
                      static_cast<int>(shape.heads.heads),
                      true};
  const RotaryHeads k{projected.k,
                      gradient.k,
                      projected.k_stride,
                      gradient.k_stride,
                      norms.k,
                      norm_gradients.scales.k,
                      static_cast<int>(shape.heads.kv_heads),
                      false};
  if (!sizes.normed) {
    turn_back_token<<<static_cast<unsigned>(shape.heads.tokens), kRotaryThreads, 0, stream>>>(
        sizes, tables, q, k);
    return check_launch("rotary_backward");
  }
  const std::int64_t blocks = backward_blocks(shape.heads.tokens);
  const std::int64_t q_width =
      sizes.full_width ? q.heads * shape.heads.head_dim : shape.heads.head_dim;
  const std::int64_t k_width =
      sizes.full_width ? k.heads * shape.heads.head_dim : shape.heads.head_dim;
  auto* q_partials = static_cast<float*>(norm_gradients.workspace);
  float* k_partials = q_partials + blocks * q_width;
  const dim3 grid(static_cast<unsigned>(blocks), 2);
  const auto kernel = sizes.full_width ? rows_backward : heads_backward;
  kernel<<<grid, kRotaryThreads, 0, stream>>>(sizes, tables, q, k, q_partials, k_partials);
  check_launch("rotary_backward");
  if (norms.q == nullptr) return;
  sum_partials(stream, q_partials, blocks, q_width, norm_gradients.d_q_norm, norm_gradients.into);
  sum_partials(stream, k_partials, blocks, k_width, norm_gradients.d_k_norm, norm_gradients.into);
}

Bytes rotary_backward_workspace(const RotaryShape& shape) {
  const bool full = shape.norm == planner::HeadNorm::full_width;
  const std::int64_t heads = full ? shape.heads.heads + shape.heads.kv_heads : 2;
  return Bytes(backward_blocks(shape.heads.tokens) * heads * shape.heads.head_dim *
               static_cast<std::int64_t>(sizeof(float)));
}

}  // namespace sluice::engine::cuda
