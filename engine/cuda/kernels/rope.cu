#include <algorithm>

#include "engine/cuda/kernels/partial_sums.hpp"
#include "engine/cuda/kernels/rope.hpp"
#include "engine/cuda/kernels/vector.cuh"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kPart = 2 * kVector;  ///< Elements of a head that one thread holds.

/// What one thread holds of a head: elements [begin, begin + 8) and those half a head later, which
/// rotate against each other.
struct Pair {
  Eight low, high;
};

__device__ Pair load_pair(const std::uint16_t* head, int begin, int half) {
  return {Eight::unpack(load(head, begin)), Eight::unpack(load(head, begin + half))};
}
__device__ void store_pair(std::uint16_t* head, int begin, int half, const Pair& pair) {
  store(head, begin, pair.low.packed());
  store(head, begin + half, pair.high.packed());
}

__device__ Eight load_floats(const float* data) {
  const float4 a = *reinterpret_cast<const float4*>(data);
  const float4 b = *reinterpret_cast<const float4*>(data + 4);
  return {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
}

/// Rotates by the angles at `angle` of the tables; `sign` -1 rotates back.
__device__ Pair rotate(const Pair& in, const RopeTables& tables, std::int64_t angle, float sign) {
  const Eight cos = load_floats(tables.cos + angle);
  const Eight sin = load_floats(tables.sin + angle);
  Pair out;
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    const float s = sign * sin.value[i];
    out.low.value[i] = in.low.value[i] * cos.value[i] - in.high.value[i] * s;
    out.high.value[i] = in.high.value[i] * cos.value[i] + in.low.value[i] * s;
  }
  return out;
}

/// Sum over the `parts` (a power of 2) neighbouring lanes that hold one head.
__device__ float head_sum(float value, int parts) {
  for (int distance = parts / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, distance);
  }
  return value;
}

/// x / sqrt(mean(x^2) + eps) * weight, rounded; `scale` becomes the reciprocal root.
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

/// Sizes as the kernels want them.
struct Sizes {
  unsigned seq_len, heads, kv_heads, parts, items;
  int half;
  const std::int32_t* starts;
};

/// Where a token's angles begin in the tables.
__device__ std::int64_t angles_of(const Sizes& sizes, unsigned token) {
  unsigned position = token % sizes.seq_len;
  if (sizes.starts != nullptr) position -= static_cast<unsigned>(sizes.starts[token]);
  return static_cast<std::int64_t>(position) * sizes.half;
}

/// One item: the part of one head of q or k of one token.
struct Item {
  unsigned token, head, part;
  bool of_q;
};
__device__ Item item_of(unsigned index, const Sizes& sizes) {
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
__global__ void __launch_bounds__(kThreads)
    rotate_heads(Sizes sizes, RopeTables tables, HeadNorms norms, ConstQueryKey in, QueryKey out,
                 HeadScales scales, float sign) {
  const unsigned index = blockIdx.x * kThreads + threadIdx.x;
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

/// q or k of all tokens, and what the backward pass of its norm needs.
struct NormedHeads {
  const std::uint16_t* projected;
  std::uint16_t* gradient;
  std::int64_t projected_stride, gradient_stride;
  const std::uint16_t* weight;
  const float* scales;
  float* partials;       ///< [blocks, head_dim]
  unsigned heads, rows;  ///< rows = tokens * heads
};

/// One head of one token, rotated back and taken through its norm. `row` may lie beyond the end.
__device__ void head_backward(const Sizes& sizes, const RopeTables& tables,
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

/// Block b takes heads b * slots + i, then gridDim * slots further on, ...; q where blockIdx.y is
/// 0.
__global__ void __launch_bounds__(kThreads)
    normed_backward(Sizes sizes, RopeTables tables, NormedHeads q, NormedHeads k) {
  __shared__ float sums[kThreads * kPart];  // [slots, head_dim]
  const NormedHeads heads = blockIdx.y == 0 ? q : k;
  const unsigned slots = kThreads / sizes.parts;
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
  for (int column = static_cast<int>(threadIdx.x); column < head_dim; column += kThreads) {
    float sum = 0;
    for (unsigned s = 0; s < slots; ++s) sum += sums[static_cast<int>(s) * head_dim + column];
    heads.partials[static_cast<std::int64_t>(blockIdx.x) * head_dim + column] = sum;
  }
}

Sizes sizes_of(const RopeShape& shape, const HeadNorms& norms) {
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

unsigned flat_blocks(const Sizes& sizes) {
  return static_cast<unsigned>(ceil_div(sizes.items, kThreads));
}

/// It fixes the order of the sums, so no device is asked.
std::int64_t backward_blocks(const RopeShape& shape) {
  const std::int64_t slots = kThreads / (shape.head_dim / kPart);
  return std::min<std::int64_t>(ceil_div(shape.tokens * shape.heads, slots), 512);
}

}  // namespace

void rope_forward(CUstream_st* stream, const RopeShape& shape, const RopeTables& tables,
                  const HeadNorms& norms, const ConstQueryKey& projected, const QueryKey& rotated,
                  const HeadScales& scales) {
  const Sizes sizes = sizes_of(shape, norms);
  check_view(projected);
  check_view(rotated);
  const auto launch = [&](auto kernel) {
    kernel<<<flat_blocks(sizes), kThreads, 0, stream>>>(sizes, tables, norms, projected, rotated,
                                                        scales, 1.0f);
    check_launch("rope_forward");
  };
  norms.q == nullptr ? launch(rotate_heads<false>) : launch(rotate_heads<true>);
}

void rope_backward(CUstream_st* stream, const RopeShape& shape, const RopeTables& tables,
                   const HeadNorms& norms, const HeadNormGradients& norm_gradients,
                   const QueryKey& gradient) {
  const Sizes sizes = sizes_of(shape, norms);
  check_view(gradient);
  if (norms.q == nullptr) {
    rotate_heads<false><<<flat_blocks(sizes), kThreads, 0, stream>>>(sizes, tables, norms, gradient,
                                                                     gradient, HeadScales{}, -1.0f);
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
  normed_backward<<<dim3(static_cast<unsigned>(blocks), 2), kThreads, 0, stream>>>(sizes, tables, q,
                                                                                   k);
  check_launch("rope_backward");
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
