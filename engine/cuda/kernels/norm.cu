#include <algorithm>

#include "engine/cuda/kernels/norm.hpp"
#include "engine/cuda/kernels/partial_sums.hpp"
#include "engine/cuda/kernels/vector.cuh"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

/// The factors of eight elements, from their weights.
__device__ Eight factors(uint4 packed, NormFactor factor) {
  Eight weight = Eight::unpack(packed);
  if (factor == NormFactor::one_plus_weight) {
#pragma unroll
    for (float& value : weight.value) value += 1.0f;
  }
  return weight;
}

/// One block per row, which stays in registers: vector i of the row belongs to thread i % blockDim.
template <int Vectors>
__global__ void __launch_bounds__(512)
    normalize(const std::uint16_t* x, const std::uint16_t* weight, NormFactor factor, float eps,
              int hidden, std::uint16_t* out, float* rstd) {
  __shared__ float warp_sums[kWarp];
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * hidden;
  uint4 packed[Vectors];
  float squares = 0;
#pragma unroll
  for (int v = 0; v < Vectors; ++v) {
    const int column = (v * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)) * 8;
    packed[v] = column < hidden ? load(x, row + column) : make_uint4(0, 0, 0, 0);
  }
#pragma unroll
  for (int v = 0; v < Vectors; ++v) {
    const Eight values = Eight::unpack(packed[v]);
#pragma unroll
    for (float value : values.value) squares = fmaf(value, value, squares);
  }
  const float mean = block_sum(squares, warp_sums) / static_cast<float>(hidden);
  const float scale = 1.0f / sqrtf(mean + eps);
  if (threadIdx.x == 0) rstd[blockIdx.x] = scale;
#pragma unroll
  for (int v = 0; v < Vectors; ++v) {
    const int column = (v * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)) * 8;
    if (column >= hidden) break;
    Eight values = Eight::unpack(packed[v]);
    const Eight w = factors(load(weight, column), factor);
#pragma unroll
    for (int i = 0; i < kVector; ++i) values.value[i] = values.value[i] * scale * w.value[i];
    store(out, row + column, values.packed());
  }
}

/// The operands of one row that belong to one thread.
template <int Vectors>
struct Row {
  uint4 x[Vectors], d[Vectors], base[Vectors];
  float rstd;
};

struct BackwardOperands {
  const std::uint16_t* x;
  const std::uint16_t* weight;
  const float* rstd;
  const std::uint16_t* d_out;
  std::uint16_t* d_x;
  int tokens, hidden;
  NormFactor factor;
};

template <int Vectors, bool Adds>
__device__ Row<Vectors> load_row(const BackwardOperands& in, int token) {
  Row<Vectors> row;
  row.rstd = in.rstd[token];
  const std::int64_t begin = static_cast<std::int64_t>(token) * in.hidden;
#pragma unroll
  for (int v = 0; v < Vectors; ++v) {
    const int column = (v * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)) * 8;
    const bool inside = column < in.hidden;
    const uint4 zero = make_uint4(0, 0, 0, 0);
    row.x[v] = inside ? load(in.x, begin + column) : zero;
    row.d[v] = inside ? load(in.d_out, begin + column) : zero;
    row.base[v] = inside && Adds ? load(in.d_x, begin + column) : zero;
  }
  return row;
}

/// Block b takes rows b, b + gridDim, ...: it loads the next row while it works on one, if there
/// are registers for it, and leaves its sum for the weight's gradient in partials[b].
template <int Vectors, bool Adds>
__global__ void __launch_bounds__(512) normalize_backward(BackwardOperands in, float* partials) {
  __shared__ float warp_sums[2][kWarp];
  uint4 weight[Vectors];
  Eight d_weight[Vectors];
#pragma unroll
  for (int v = 0; v < Vectors; ++v) {
    const int column = (v * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)) * 8;
    weight[v] = column < in.hidden ? load(in.weight, column) : make_uint4(0, 0, 0, 0);
    d_weight[v] = Eight{};
  }
  const int step = static_cast<int>(gridDim.x);
  int token = static_cast<int>(blockIdx.x);
  constexpr bool kLoadsAhead = Vectors <= 2;
  Row<Vectors> next;
  if (kLoadsAhead) next = load_row<Vectors, Adds>(in, token);
  for (int turn = 0; token < in.tokens; token += step, turn ^= 1) {
    const Row<Vectors> row = kLoadsAhead ? next : load_row<Vectors, Adds>(in, token);
    if (kLoadsAhead && token + step < in.tokens) next = load_row<Vectors, Adds>(in, token + step);
    float dot = 0;
#pragma unroll
    for (int v = 0; v < Vectors; ++v) {
      const Eight x = Eight::unpack(row.x[v]);
      const Eight d = Eight::unpack(row.d[v]);
      const Eight w = factors(weight[v], in.factor);
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        dot = fmaf(d.value[i] * w.value[i], x.value[i], dot);
        d_weight[v].value[i] = fmaf(d.value[i] * x.value[i], row.rstd, d_weight[v].value[i]);
      }
    }
    const float mean = block_sum(dot, warp_sums[turn]) / static_cast<float>(in.hidden);
    const float shrink = row.rstd * row.rstd * row.rstd * mean;
    const std::int64_t begin = static_cast<std::int64_t>(token) * in.hidden;
#pragma unroll
    for (int v = 0; v < Vectors; ++v) {
      const int column = (v * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)) * 8;
      if (column >= in.hidden) break;
      const Eight x = Eight::unpack(row.x[v]);
      const Eight d = Eight::unpack(row.d[v]);
      const Eight w = factors(weight[v], in.factor);
      Eight sum = Eight::unpack(row.base[v]);
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        sum.value[i] += fmaf(d.value[i] * w.value[i], row.rstd, -(x.value[i] * shrink));
      }
      store(in.d_x, begin + column, sum.packed());
    }
  }
#pragma unroll
  for (int v = 0; v < Vectors; ++v) {
    const int column = (v * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)) * 8;
    if (column >= in.hidden) break;
    float* out = partials + static_cast<std::int64_t>(blockIdx.x) * in.hidden + column;
    const float* sums = d_weight[v].value;
    *reinterpret_cast<float4*>(out) = make_float4(sums[0], sums[1], sums[2], sums[3]);
    *reinterpret_cast<float4*>(out + 4) = make_float4(sums[4], sums[5], sums[6], sums[7]);
  }
}

void check_sizes(std::int64_t tokens, std::int64_t hidden) {
  check(tokens > 0 && tokens <= INT32_MAX, "a norm has rows");
  check(hidden > 0 && hidden % kVector == 0 && hidden <= kMostNormWidth,
        "the width of a norm is a multiple of 8, at most 32768");
}

unsigned threads_for(std::int64_t hidden, int vectors) {
  return static_cast<unsigned>(ceil_div(ceil_div(hidden / kVector, vectors), kWarp) * kWarp);
}

/// Number of blocks: two for each multiprocessor of the largest device so far, which gives few
/// partial sums and enough loads in flight. It fixes the order of sums, so it does not depend on
/// the device.
std::int64_t backward_blocks(std::int64_t tokens) { return std::min<std::int64_t>(tokens, 264); }

template <int Vectors>
void launch_backward(CUstream_st* stream, const BackwardOperands& in, Into into, float* partials) {
  const auto blocks = static_cast<unsigned>(backward_blocks(in.tokens));
  const unsigned threads = threads_for(in.hidden, Vectors);
  if (into == Into::accumulate) {
    normalize_backward<Vectors, true><<<blocks, threads, 0, stream>>>(in, partials);
  } else {
    normalize_backward<Vectors, false><<<blocks, threads, 0, stream>>>(in, partials);
  }
  check_launch("rms_norm_backward");
}

}  // namespace

void rms_norm(CUstream_st* stream, const std::uint16_t* x, const std::uint16_t* weight, float eps,
              std::int64_t tokens, std::int64_t hidden, std::uint16_t* out, float* rstd,
              NormFactor factor) {
  check_sizes(tokens, hidden);
  check(aligned(x, weight, out), "the operands of a norm are 16-byte aligned");
  const auto rows = static_cast<unsigned>(tokens);
  const auto columns = static_cast<int>(hidden);
  const auto launch = [&](auto kernel, int vectors) {
    kernel<<<rows, threads_for(hidden, vectors), 0, stream>>>(x, weight, factor, eps, columns, out,
                                                              rstd);
    check_launch("rms_norm");
  };
  if (hidden <= 2048) return launch(normalize<1>, 1);
  if (hidden <= 4096) return launch(normalize<2>, 2);
  if (hidden <= 16384) return launch(normalize<4>, 4);
  return launch(normalize<8>, 8);
}

void rms_norm_backward(CUstream_st* stream, const std::uint16_t* x, const std::uint16_t* weight,
                       const float* rstd, const std::uint16_t* d_out, std::int64_t tokens,
                       std::int64_t hidden, const NormGradients& gradients, void* workspace,
                       NormFactor factor) {
  check_sizes(tokens, hidden);
  check(aligned(x, weight, d_out, gradients.d_x, static_cast<const char*>(workspace)),
        "the operands of a norm's backward pass are 16-byte aligned");
  const BackwardOperands in{
      x,     weight, rstd, d_out, gradients.d_x, static_cast<int>(tokens), static_cast<int>(hidden),
      factor};
  auto* partials = static_cast<float*>(workspace);
  if (hidden <= 4096) {
    launch_backward<1>(stream, in, gradients.d_x_into, partials);
  } else if (hidden <= 8192) {
    launch_backward<2>(stream, in, gradients.d_x_into, partials);
  } else if (hidden <= 16384) {
    launch_backward<4>(stream, in, gradients.d_x_into, partials);
  } else {
    launch_backward<8>(stream, in, gradients.d_x_into, partials);
  }
  sum_partials(stream, partials, backward_blocks(tokens), hidden, gradients.d_weight,
               gradients.d_weight_into);
}

Bytes norm_backward_workspace(std::int64_t tokens, std::int64_t hidden) {
  return Bytes(backward_blocks(tokens) * hidden * static_cast<std::int64_t>(sizeof(float)));
}

}  // namespace sluice::engine::cuda
