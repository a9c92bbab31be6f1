#include <algorithm>

#include "engine/cuda/kernels/gradient.hpp"
#include "engine/cuda/kernels/vector.cuh"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kQuads = 4;  ///< Number of 16-byte loads that a thread has in flight.
constexpr std::int64_t kNormBlock = std::int64_t{kThreads} * kQuads * 4;
static_assert(kNormBlock == 4096);

/// Four elements from `index` on, zeros beyond `elements`.
__device__ float4 load_four(const float* data, std::int64_t index, std::int64_t elements) {
  if (index + 4 <= elements) return *reinterpret_cast<const float4*>(data + index);
  float4 quad = make_float4(0, 0, 0, 0);
  if (index < elements) quad.x = data[index];
  if (index + 1 < elements) quad.y = data[index + 1];
  if (index + 2 < elements) quad.z = data[index + 2];
  return quad;
}

__device__ double add_square(float value, double sum) {
  return fma(static_cast<double>(value), static_cast<double>(value), sum);
}

__global__ void __launch_bounds__(kThreads)
    square_blocks(const float* gradient, std::int64_t elements, double* blocks) {
  __shared__ double warp_sums[kWarp];
  const std::int64_t begin = blockIdx.x * kNormBlock + threadIdx.x * 4;
  float4 quads[kQuads];
#pragma unroll
  for (int q = 0; q < kQuads; ++q) {
    quads[q] = load_four(gradient, begin + q * (kThreads * 4), elements);
  }
  double sum = 0;
#pragma unroll
  for (const float4& quad : quads) {
    sum = add_square(quad.w, add_square(quad.z, add_square(quad.y, add_square(quad.x, sum))));
  }
  sum = block_sum(sum, warp_sums);
  if (threadIdx.x == 0) blocks[blockIdx.x] = sum;
}

constexpr int kSumThreads = 1024;

__global__ void __launch_bounds__(kSumThreads)
    sum_all(const double* blocks, std::int64_t count, double* total) {
  __shared__ double warp_sums[kWarp];
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += kSumThreads) sum += blocks[i];
  sum = block_sum(sum, warp_sums);
  if (threadIdx.x == 0) *total = sum;
}

__global__ void __launch_bounds__(kThreads)
    add(float* gradient, const float* addend, std::int64_t elements) {
  const std::int64_t begin = blockIdx.x * kNormBlock + threadIdx.x * 4;
  float4 sums[kQuads], more[kQuads];
#pragma unroll
  for (int q = 0; q < kQuads; ++q) {
    sums[q] = load_four(gradient, begin + q * (kThreads * 4), elements);
    more[q] = load_four(addend, begin + q * (kThreads * 4), elements);
  }
#pragma unroll
  for (int q = 0; q < kQuads; ++q) {
    const std::int64_t index = begin + q * (kThreads * 4);
    const float4 sum = make_float4(sums[q].x + more[q].x, sums[q].y + more[q].y,
                                   sums[q].z + more[q].z, sums[q].w + more[q].w);
    if (index + 4 <= elements) {
      *reinterpret_cast<float4*>(gradient + index) = sum;
    } else {
      if (index < elements) gradient[index] = sum.x;
      if (index + 1 < elements) gradient[index + 1] = sum.y;
      if (index + 2 < elements) gradient[index + 2] = sum.z;
    }
  }
}

__global__ void __launch_bounds__(kThreads)
    add_halves(float* gradient, const std::uint16_t* addend, std::int64_t elements) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
       i < elements; i += stride) {
    gradient[i] += __uint_as_float(static_cast<unsigned>(addend[i]) << 16);
  }
}

constexpr int kRoundThreads = 1024;
/// Number of elements that one block reads before it writes any.
constexpr std::int64_t kRoundBlock = std::int64_t{kRoundThreads} * kVector;

/// Rounds elements [begin, end). Only a single block may overwrite what it reads.
__global__ void __launch_bounds__(kRoundThreads)
    round_range(const float* gradient, std::int64_t begin, std::int64_t end, std::uint16_t* wire) {
  const std::int64_t index = begin + blockIdx.x * kRoundBlock + threadIdx.x * kVector;
  const float4 a = load_four(gradient, index, end);
  const float4 b = load_four(gradient, index + 4, end);
  __syncthreads();
  const Eight values{{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
  if (index + kVector <= end) {
    store(wire, index, values.packed());
    return;
  }
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    if (index + i < end) wire[index + i] = static_cast<std::uint16_t>(pack(values.value[i], 0));
  }
}

void launch_round(CUstream_st* stream, const float* gradient, std::int64_t begin, std::int64_t end,
                  std::uint16_t* wire) {
  round_range<<<static_cast<unsigned>(ceil_div(end - begin, kRoundBlock)), kRoundThreads, 0,
                stream>>>(gradient, begin, end, wire);
  check_launch("round_to_bf16");
}

}  // namespace

void norm_blocks(CUstream_st* stream, const float* gradient, std::int64_t elements,
                 double* blocks) {
  if (elements == 0) return;
  check(aligned(gradient), "a gradient is 16-byte aligned");
  square_blocks<<<static_cast<unsigned>(ceil_div(elements, kNormBlock)), kThreads, 0, stream>>>(
      gradient, elements, blocks);
  check_launch("norm_blocks");
}

void sum_blocks(CUstream_st* stream, const double* blocks, std::int64_t count, double* sum) {
  sum_all<<<1, kSumThreads, 0, stream>>>(blocks, count, sum);
  check_launch("sum_blocks");
}

void combine(CUstream_st* stream, float* gradient, const float* addend, std::int64_t elements) {
  if (elements == 0) return;
  check(aligned(gradient, addend), "gradients are 16-byte aligned");
  add<<<static_cast<unsigned>(ceil_div(elements, kNormBlock)), kThreads, 0, stream>>>(
      gradient, addend, elements);
  check_launch("combine");
}

void add_bf16(CUstream_st* stream, float* gradient, const std::uint16_t* addend,
              std::int64_t elements) {
  if (elements == 0) return;
  constexpr std::int64_t kMostBlocks = 4096;
  add_halves<<<static_cast<unsigned>(std::min(ceil_div(elements, kThreads), kMostBlocks)), kThreads,
               0, stream>>>(gradient, addend, elements);
  check_launch("add_bf16");
}

void round_to_bf16(CUstream_st* stream, const float* gradient, std::int64_t elements,
                   std::uint16_t* wire) {
  if (elements == 0) return;
  check(aligned(gradient, wire), "gradient and wire are 16-byte aligned");
  const auto in = reinterpret_cast<std::uintptr_t>(gradient);
  const auto out = reinterpret_cast<std::uintptr_t>(wire);
  const auto count = static_cast<std::uintptr_t>(elements);
  if (in != out) {
    check(out >= in + count * 4 || in >= out + count * 2,
          "the wire lies where the gradient starts or apart from it");
    launch_round(stream, gradient, 0, elements, wire);
    return;
  }
  // Elements [n, 2n) are written where [n / 2, n) were read one kernel earlier.
  launch_round(stream, gradient, 0, std::min(elements, kRoundBlock), wire);
  for (std::int64_t begin = kRoundBlock; begin < elements; begin *= 2) {
    launch_round(stream, gradient, begin, std::min(elements, 2 * begin), wire);
  }
}

void fill_zero(CUstream_st* stream, void* memory, Bytes bytes) {
  if (cudaMemsetAsync(memory, 0, static_cast<std::size_t>(bytes.count()), stream) != cudaSuccess) {
    check_launch("fill_zero");
  }
}

}  // namespace sluice::engine::cuda
