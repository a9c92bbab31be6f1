#include <algorithm>

#include "engine/cuda/kernels/partial_sums.hpp"
#include "engine/cuda/kernels/rope.hpp"
#include "engine/cuda/kernels/rope_heads.cuh"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

/// RMSNorm x / sqrt(mean(x^2) + eps) * weight, rounded; `scale` becomes the reciprocal root.
__device__ Pair normed(const Pair& x, const Pair& weight, float eps, int parts, float& scale) {
  float squares = 0;
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    squares = fmaf(x.low.value[i], x.low.value[i], squares);
    squares = fmaf(x.high.value[i], x.high.value[i], squares);
  }
  const float mean = head_sum(squares, parts) / static_cast<float>(parts * kPart);
  scale = 1.0f / sqrtf(mean + eps);
  Pair y;
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    y.low.value[i] = rounded(x.low.value[i] * scale * weight.low.value[i]);
    y.high.value[i] = rounded(x.high.value[i] * scale * weight.high.value[i]);
  }
  return y;
}

/// The part of one head of q or k of one token that a thread works on.
struct Item {
  unsigned token, head, part;
  bool of_q;
};
__device__ Item item_of(unsigned index, const RopeSizes& sizes) {
  const unsigned all_heads = sizes.heads + sizes.kv_heads;
  const unsigned row = index / sizes.parts;
  const unsigned token = row / all_heads;
  const unsigned head = row % all_heads;
  const bool of_q = head < sizes.heads;
  return {token, of_q ? head : head - sizes.heads, index % sizes.parts, of_q};
}

template <class View>
__device__ auto head_of(const View& view, const Item& item, int half) {
  const std::int64_t stride = item.of_q ? view.q_stride : view.k_stride;
  return (item.of_q ? view.q : view.k) + item.token * stride +
         static_cast<std::int64_t>(item.head) * 2 * half;
}

template <bool Norms>
__global__ void __launch_bounds__(kRopeThreads)
    rotate_heads(RopeSizes sizes, RopeTables tables, HeadNorms norms, ConstQueryKey in,
                 QueryKey out, HeadScales scales, float sign) {
  const unsigned index = blockIdx.x * kRopeThreads + threadIdx.x;
  const bool inside = index < sizes.items;
  if (!Norms && !inside) return;
  // Lanes beyond the end take part in the sums of their warp.
  const Item item = item_of(inside ? index : sizes.items - 1, sizes);
  const int begin = static_cast<int>(item.part * kVector);
  Pair x = load_pair(head_of(in, item, sizes.half), begin, sizes.half);
  if (Norms) {
    const Pair weight = load_pair(item.of_q ? norms.q : norms.k, begin, sizes.half);
    float scale;
    x = normed(x, weight, norms.eps, static_cast<int>(sizes.parts), scale);
    if (!inside) return;
    float* written = item.of_q ? scales.q : scales.k;
    if (written != nullptr && item.part == 0) {
      written[static_cast<std::int64_t>(item.token) * (item.of_q ? sizes.heads : sizes.kv_heads) +
              item.head] = scale;
    }
  }
  const std::int64_t angle = angles_of(sizes, item.token) + begin;
  store_pair(head_of(out, item, sizes.half), begin, sizes.half, rotate(x, tables, angle, sign));
}

RopeSizes sizes_of(const RopeShape& shape, const HeadNorms& norms) {
  const std::int64_t parts = shape.head_dim / kPart;
  const std::int64_t items = shape.tokens * (shape.heads + shape.kv_heads) * parts;
  check(shape.tokens > 0 && shape.seq_len > 0 && shape.heads > 0 && shape.kv_heads > 0,
        "a rotation has tokens and heads");
  check(parts > 0 && shape.head_dim % kPart == 0, "the head dimension is a multiple of 16");
  check(items <= INT32_MAX, "a rotation has fewer than 2^31 vectors");
  check((norms.q == nullptr) == (norms.k == nullptr), "q and k have norms, or neither has");
  check(norms.q == nullptr || (parts <= kWarp && (parts & (parts - 1)) == 0),
        "the head dimension of a normed head is 16 times a power of 2, at most 512");
  return {static_cast<unsigned>(shape.seq_len),
          static_cast<unsigned>(shape.heads),
          static_cast<unsigned>(shape.kv_heads),
          static_cast<unsigned>(parts),
          static_cast<unsigned>(items),
          static_cast<int>(shape.head_dim / 2),
          shape.starts};
}

void check_view(const ConstQueryKey& view) {
  check(aligned(view.q, view.k) && view.q_stride % kVector == 0 && view.k_stride % kVector == 0,
        "q and k are 16-byte aligned and so are their rows");
}

unsigned flat_blocks(const RopeSizes& sizes) {
  return static_cast<unsigned>(ceil_div(sizes.items, kRopeThreads));
}

/// Number of blocks, which fixes the order of sums and so does not depend on the device.
std::int64_t backward_blocks(const RopeShape& shape) {
  const std::int64_t slots = kRopeThreads / (shape.head_dim / kPart);
  return std::min<std::int64_t>(ceil_div(shape.tokens * shape.heads, slots), 512);
}

}  // namespace

void rope_forward(CUstream_st* stream, const RopeShape& shape, const RopeTables& tables,
                  const HeadNorms& norms, const ConstQueryKey& projected, const QueryKey& rotated,
                  const HeadScales& scales) {
  const RopeSizes sizes = sizes_of(shape, norms);
  check_view(projected);
  check_view(rotated);
  const auto launch = [&](auto kernel) {
    kernel<<<flat_blocks(sizes), kRopeThreads, 0, stream>>>(sizes, tables, norms, projected,
                                                            rotated, scales, 1.0f);
    check_launch("rope_forward");
  };
  norms.q == nullptr ? launch(rotate_heads<false>) : launch(rotate_heads<true>);
}

void rope_backward(CUstream_st* stream, const RopeShape& shape, const RopeTables& tables,
                   const HeadNorms& norms, const HeadNormGradients& norm_gradients,
                   const QueryKey& gradient) {
  const RopeSizes sizes = sizes_of(shape, norms);
  check_view(gradient);
  if (norms.q == nullptr) {
    rotate_heads<false><<<flat_blocks(sizes), kRopeThreads, 0, stream>>>(
        sizes, tables, norms, gradient, gradient, HeadScales{}, -1.0f);
    check_launch("rope_backward");
    return;
  }
  check_view(norm_gradients.projected);
  const ConstQueryKey& projected = norm_gradients.projected;
  const std::int64_t blocks = backward_blocks(shape);
  auto* q_partials = static_cast<float*>(norm_gradients.workspace);
  float* k_partials = q_partials + blocks * shape.head_dim;
  const NormedHeads q{
      projected.q,       gradient.q,  projected.q_stride,
      gradient.q_stride, norms.q,     norm_gradients.scales.q,
      q_partials,        sizes.heads, static_cast<unsigned>(shape.tokens * shape.heads)};
  const NormedHeads k{
      projected.k,       gradient.k,     projected.k_stride,
      gradient.k_stride, norms.k,        norm_gradients.scales.k,
      k_partials,        sizes.kv_heads, static_cast<unsigned>(shape.tokens * shape.kv_heads)};
  rope_norms_backward(stream, sizes, tables, q, k, blocks);
  sum_partials(stream, q_partials, blocks, shape.head_dim, norm_gradients.d_q_norm,
               norm_gradients.into);
  sum_partials(stream, k_partials, blocks, shape.head_dim, norm_gradients.d_k_norm,
               norm_gradients.into);
}

Bytes rope_backward_workspace(const RopeShape& shape) {
  return Bytes(2 * backward_blocks(shape) * shape.head_dim *
               static_cast<std::int64_t>(sizeof(float)));
}

}  // namespace sluice::engine::cuda
