#include <cuda_bf16.h>

#include "check.hpp"
#include "kernels.hpp"

namespace sluice::several_gpus {
namespace {

constexpr int kThreads = 256;
constexpr int kVectors = kBlock / 4 / kThreads;  ///< Vectors of four elements that a thread adds.

__device__ float4 operator+(float4 a, float4 b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}

/// The largest power of two below a length of at least two.
__host__ __device__ constexpr int half_of(int length) {
  int half = 1;
  while (2 * half < length) half *= 2;
  return half;
}

template <int Low, int High, int Count>
__device__ float4 fold(const float4 (&x)[Count]) {
  if constexpr (High - Low == 1) {
    return x[Low];
  } else {
    constexpr int kMiddle = Low + half_of(High - Low);
    return fold<Low, kMiddle>(x) + fold<kMiddle, High>(x);
  }
}

template <int Count>
struct Operands {
  const float4* of[Count];
};

/// One block of threads sums one block of elements.
template <int Count, bool Bf16>
__global__ void __launch_bounds__(kThreads)
    sum_slices(Operands<Count> slices, void* sum, double* squares) {
  double total = 0;
#pragma unroll
  for (int vector = 0; vector < kVectors; ++vector) {
    const std::size_t at =
        blockIdx.x * (kBlock / 4) + static_cast<std::size_t>(vector) * kThreads + threadIdx.x;
    float4 x[Count];
#pragma unroll
    for (int i = 0; i < Count; ++i) x[i] = __ldcs(slices.of[i] + at);
    const float4 s = fold<0, Count>(x);
    if constexpr (Bf16) {
      const __nv_bfloat162 low = __floats2bfloat162_rn(s.x, s.y);
      const __nv_bfloat162 high = __floats2bfloat162_rn(s.z, s.w);
      static_cast<uint2*>(sum)[at] = {reinterpret_cast<const unsigned&>(low),
                                      reinterpret_cast<const unsigned&>(high)};
    } else {
      static_cast<float4*>(sum)[at] = s;
    }
    total += static_cast<double>(s.x) * s.x;
    total += static_cast<double>(s.y) * s.y;
    total += static_cast<double>(s.z) * s.z;
    total += static_cast<double>(s.w) * s.w;
  }
  for (int lane = 16; lane > 0; lane /= 2) total += __shfl_down_sync(~0u, total, lane);
  __shared__ double warps[kThreads / 32];
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = total;
  __syncthreads();
  if (threadIdx.x == 0) {
    double sum_of_warps = 0;
    for (double warp : warps) sum_of_warps += warp;
    squares[blockIdx.x] = sum_of_warps;
  }
}

template <int Count>
void launch_sum(const Slices& from, std::size_t elements, bool bf16, void* sum, double* squares,
                cudaStream_t stream) {
  Operands<Count> slices;
  for (int i = 0; i < Count; ++i) slices.of[i] = reinterpret_cast<const float4*>(from[i]);
  const auto blocks = static_cast<unsigned>(elements / kBlock);
  if (bf16) {
    sum_slices<Count, true><<<blocks, kThreads, 0, stream>>>(slices, sum, squares);
  } else {
    sum_slices<Count, false><<<blocks, kThreads, 0, stream>>>(slices, sum, squares);
  }
  check(cudaGetLastError(), "ordered sum");
}

/// SplitMix64's mixing function.
__device__ std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

__device__ std::size_t first_index() {
  return blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
}
__device__ std::size_t stride() { return static_cast<std::size_t>(gridDim.x) * blockDim.x; }

__global__ void fill(float* out, std::size_t elements, std::uint64_t seed) {
  for (std::size_t i = first_index(); i < elements; i += stride()) {
    const std::uint64_t bits = mixed(seed << 40 ^ i);
    const auto fraction = static_cast<float>(static_cast<std::int32_t>(bits)) * 0x1p-31f;
    out[i] = ldexpf(fraction, static_cast<int>(bits >> 59) - 24);
  }
}

__global__ void fill_bf16(__nv_bfloat16* out, std::size_t elements) {
  for (std::size_t i = first_index(); i < elements; i += stride()) {
    out[i] = __float2bfloat16(static_cast<float>(static_cast<std::int32_t>(mixed(i))) * 0x1p-31f);
  }
}

__global__ void add_digest(const std::uint32_t* words, std::size_t count, std::uint64_t first,
                           std::uint64_t* digest) {
  unsigned long long total = 0;
  for (std::size_t i = first_index(); i < count; i += stride()) {
    total += mixed((first + i) << 32 ^ words[i]);
  }
  atomicAdd(reinterpret_cast<unsigned long long*>(digest), total);
}

__global__ void __launch_bounds__(1024) spin(std::uint64_t nanoseconds) {
  std::uint64_t from, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(from));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now - from < nanoseconds);
}

}  // namespace

void ordered_sum(const Slices& slices, int count, std::size_t elements, bool bf16, void* sum,
                 double* squares, cudaStream_t stream) {
  switch (count) {
    case 2:
      return launch_sum<2>(slices, elements, bf16, sum, squares, stream);
    case 4:
      return launch_sum<4>(slices, elements, bf16, sum, squares, stream);
    case 8:
      return launch_sum<8>(slices, elements, bf16, sum, squares, stream);
    default:
      throw std::runtime_error("ordered_sum: count must be 2, 4 or 8");
  }
}

void fill_random(float* out, std::size_t elements, std::uint64_t seed, cudaStream_t stream) {
  fill<<<1024, 256, 0, stream>>>(out, elements, seed);
  check(cudaGetLastError(), "fill");
}

void fill_random_bf16(void* out, std::size_t elements, cudaStream_t stream) {
  fill_bf16<<<1024, 256, 0, stream>>>(static_cast<__nv_bfloat16*>(out), elements);
  check(cudaGetLastError(), "fill");
}

void digest(const void* words, std::size_t count, std::uint64_t first, std::uint64_t* digest,
            cudaStream_t stream) {
  add_digest<<<1024, 256, 0, stream>>>(static_cast<const std::uint32_t*>(words), count, first,
                                       digest);
  check(cudaGetLastError(), "digest");
}

void fill_multiprocessors(double seconds, int multiprocessors, cudaStream_t stream) {
  spin<<<2 * multiprocessors, 1024, 0, stream>>>(static_cast<std::uint64_t>(seconds * 1e9));
  check(cudaGetLastError(), "spin");
}

}  // namespace sluice::several_gpus
