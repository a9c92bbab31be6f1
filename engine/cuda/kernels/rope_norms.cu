// Backward pass of the rotation together with the norms of heads.
#include "engine/cuda/kernels/rope_heads.cuh"

namespace sluice::engine::cuda {
namespace {

/// Backward pass of one head of one token: rotation, then norm. `row` may lie beyond the end.
__device__ void head_backward(const RopeSizes& sizes, const RopeTables& tables,
                              const NormedHeads& heads, unsigned row, int begin, const Pair& weight,
                              Pair& d_weight) {
  const bool inside = row < heads.rows;
  const unsigned token = inside ? row / heads.heads : 0;
  const std::int64_t offset =
      static_cast<std::int64_t>(inside ? row % heads.heads : 0) * 2 * sizes.half;
  std::uint16_t* gradient = heads.gradient + token * heads.gradient_stride + offset;
  const Pair x =
      load_pair(heads.projected + token * heads.projected_stride + offset, begin, sizes.half);
  const std::int64_t angle = angles_of(sizes, token) + begin;
  const Pair d = rotate(load_pair(gradient, begin, sizes.half), tables, angle, -1.0f);
  const float scale = heads.scales[inside ? row : 0];
  float dot = 0;
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    dot = fmaf(d.low.value[i] * weight.low.value[i], x.low.value[i], dot);
    dot = fmaf(d.high.value[i] * weight.high.value[i], x.high.value[i], dot);
  }
  const float mean =
      head_sum(dot, static_cast<int>(sizes.parts)) / static_cast<float>(2 * sizes.half);
  const float shrink = scale * scale * scale * mean;
  if (!inside) return;
  Pair d_x;
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    d_weight.low.value[i] = fmaf(d.low.value[i] * x.low.value[i], scale, d_weight.low.value[i]);
    d_weight.high.value[i] = fmaf(d.high.value[i] * x.high.value[i], scale, d_weight.high.value[i]);
    d_x.low.value[i] =
        fmaf(d.low.value[i] * weight.low.value[i], scale, -(x.low.value[i] * shrink));
    d_x.high.value[i] =
        fmaf(d.high.value[i] * weight.high.value[i], scale, -(x.high.value[i] * shrink));
  }
  store_pair(gradient, begin, sizes.half, d_x);
}

/// Block b takes heads b * slots + i, then those gridDim * slots further on, and so forth; q if
/// blockIdx.y is 0, else k.
__global__ void __launch_bounds__(kRopeThreads)
    normed_backward(RopeSizes sizes, RopeTables tables, NormedHeads q, NormedHeads k) {
  __shared__ float sums[kRopeThreads * kPart];  // [slots, head_dim]
  const NormedHeads heads = blockIdx.y == 0 ? q : k;
  const unsigned slots = kRopeThreads / sizes.parts;
  const unsigned slot = threadIdx.x / sizes.parts;
  const int begin = static_cast<int>(threadIdx.x % sizes.parts * kVector);
  const Pair weight = load_pair(heads.weight, begin, sizes.half);
  Pair d_weight{};
  for (unsigned row = blockIdx.x * slots; row < heads.rows; row += gridDim.x * slots) {
    head_backward(sizes, tables, heads, row + slot, begin, weight, d_weight);
  }
  const int head_dim = 2 * sizes.half;
  float* mine = sums + static_cast<int>(slot) * head_dim + begin;
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    mine[i] = d_weight.low.value[i];
    mine[i + sizes.half] = d_weight.high.value[i];
  }
  __syncthreads();
  for (int column = static_cast<int>(threadIdx.x); column < head_dim; column += kRopeThreads) {
    float sum = 0;
    for (unsigned s = 0; s < slots; ++s) sum += sums[static_cast<int>(s) * head_dim + column];
    heads.partials[static_cast<std::int64_t>(blockIdx.x) * head_dim + column] = sum;
  }
}

}  // namespace

void rope_norms_backward(CUstream_st* stream, const RopeSizes& sizes, const RopeTables& tables,
                         const NormedHeads& q, const NormedHeads& k, std::int64_t blocks) {
  normed_backward<<<dim3(static_cast<unsigned>(blocks), 2), kRopeThreads, 0, stream>>>(
      sizes, tables, q, k);
  check_launch("rope_backward");
}

}  // namespace sluice::engine::cuda
