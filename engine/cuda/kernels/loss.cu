#include <algorithm>
#include <cfloat>

#include "engine/cuda/kernels/loss.hpp"
#include "engine/cuda/kernels/vector.cuh"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

constexpr int kMaxThreads = 512;
/// Number of blocks on a multiprocessor: one reads while the other computes.
constexpr int kResident = 2;
constexpr int kAhead = 4;  ///< Number of 16-byte loads that a thread has in flight.
constexpr float kLog2E = 1.4426950408889634f;
constexpr std::uint32_t kTwoMinusInfinities = 0xff80ff80u;

/// exp(x) with an error below 2^-21 for -20 < x <= 0; zero where it would be denormal.
__device__ float exponential(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x * kLog2E));
  return result;
}

/// Logits as they lie in memory.
struct Same {
  __device__ float of(float x) const { return x; }
  __device__ float slope(float) const { return 1.0f; }
};
/// Logits that LogitChange makes of what lies in memory. `slope` is without the factor, which is
/// part of the gradient's scale.
struct Changed {
  LogitChange change;
  __device__ float of(float x) const {
    if (x == -INFINITY) return x;  // Places behind the end of a row.
    const float scaled = change.factor * x;
    return change.bound == 0 ? scaled : change.bound * tanhf(scaled / change.bound);
  }
  __device__ float slope(float logit) const {
    if (change.bound == 0) return 1.0f;
    const float t = logit / change.bound;
    return 1.0f - t * t;
  }
};

/// Largest value and sum of exp(value - top).
struct Softmax {
  float top = -FLT_MAX;  // Finite: the difference of two infinities would be NaN.
  float total = 0;
};

template <class Logit>
__device__ Eight logits_of(uint4 packed, const Logit& logit) {
  Eight x = Eight::unpack(packed);
#pragma unroll
  for (float& value : x.value) value = logit.of(value);
  return x;
}

template <class Logit>
__device__ void include(Softmax& softmax, const uint4 (&packed)[kAhead], const Logit& logit) {
  float top = softmax.top;
#pragma unroll
  for (const uint4& vector : packed) {
    const Eight x = logits_of(vector, logit);
#pragma unroll
    for (float value : x.value) top = fmaxf(top, value);
  }
  float total = softmax.total * exponential(softmax.top - top);
#pragma unroll
  for (const uint4& vector : packed) {
    const Eight x = logits_of(vector, logit);
#pragma unroll
    for (float value : x.value) total += exponential(value - top);
  }
  softmax = {top, total};
}

/// Combines the threads' values over the block, in every thread: warps by a butterfly, then in
/// order.
__device__ Softmax combined(Softmax mine, float* warp_tops, float* warp_totals) {
  float top = mine.top;
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    top = fmaxf(top, __shfl_xor_sync(kAllLanes, top, distance));
  }
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  if (threadIdx.x % kWarp == 0) warp_tops[threadIdx.x / kWarp] = top;
  __syncthreads();
  for (int warp = 0; warp < warps; ++warp) top = fmaxf(top, warp_tops[warp]);
  return {top, block_sum(mine.total * exponential(mine.top - top), warp_totals)};
}

/// Reads a row once; its first `cached` vectors stay in shared memory.
template <class Logit>
__device__ Softmax statistics(const std::uint16_t* row, int vectors, int cached, uint4* cache,
                              const Logit& logit) {
  Softmax softmax;
  const int threads = static_cast<int>(blockDim.x);
  for (int begin = static_cast<int>(threadIdx.x); begin < vectors; begin += threads * kAhead) {
    uint4 packed[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const int v = begin + i * threads;
      packed[i] = make_uint4(kTwoMinusInfinities, kTwoMinusInfinities, kTwoMinusInfinities,
                             kTwoMinusInfinities);
      if (v < vectors)
        packed[i] = v < cached ? load_once(row, v * kVector) : load(row, v * kVector);
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const int v = begin + i * threads;
      if (v < cached) cache[v] = packed[i];
    }
    include(softmax, packed, logit);
  }
  return softmax;
}

struct Gradient {
  Softmax softmax;
  float scale;
  int target;
};

template <class Logit>
__device__ void write_vector(std::uint16_t* row, int v, uint4 packed, const Gradient& gradient,
                             float factor, const Logit& logit) {
  const Eight logits = logits_of(packed, logit);
  Eight x;
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    x.value[i] = exponential(logits.value[i] - gradient.softmax.top) * factor;
  }
  if (v == gradient.target / static_cast<int>(kVector)) {
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      if (i == gradient.target % static_cast<int>(kVector)) x.value[i] -= gradient.scale;
    }
  }
#pragma unroll
  for (int i = 0; i < kVector; ++i) x.value[i] *= logit.slope(logits.value[i]);
  store(row, v * kVector, x.packed());
}

/// Writes the gradient. Vectors that are not in shared memory are reloaded, last ones first,
/// because those are still in the L2 cache.
template <class Logit>
__device__ void write_gradient(std::uint16_t* row, int vectors, int cached, const uint4* cache,
                               const Gradient& gradient, const Logit& logit) {
  const float factor = gradient.scale / gradient.softmax.total;
  const int threads = static_cast<int>(blockDim.x);
  const int thread = static_cast<int>(threadIdx.x);
  for (int end = vectors - thread; end > cached; end -= threads * kAhead) {
    uint4 packed[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const int v = end - 1 - i * threads;
      if (v >= cached) packed[i] = load_once(row, v * kVector);
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const int v = end - 1 - i * threads;
      if (v >= cached) write_vector(row, v, packed[i], gradient, factor, logit);
    }
  }
#pragma unroll 4
  for (int v = thread; v < cached; v += threads) {
    write_vector(row, v, cache[v], gradient, factor, logit);
  }
}

/// One block per row; without `Writes` the logits stay.
template <bool Writes, class Logit>
__global__ void __launch_bounds__(kMaxThreads, kResident)
    cross_entropy_row(std::uint16_t* logits, const std::int32_t* targets, int vocab, int cached,
                      float scale, float* loss, Logit logit) {
  extern __shared__ uint4 cache[];
  __shared__ float warp_tops[kWarp];
  __shared__ float warp_totals[kWarp];
  std::uint16_t* row = logits + static_cast<std::int64_t>(blockIdx.x) * vocab;
  const int vectors = vocab / static_cast<int>(kVector);
  const int target = targets[blockIdx.x];
  if (target < 0) {
    if (threadIdx.x == 0) loss[blockIdx.x] = 0;
    for (int v = static_cast<int>(threadIdx.x); Writes && v < vectors; v += blockDim.x) {
      store(row, v * kVector, make_uint4(0, 0, 0, 0));
    }
    return;
  }
  const float picked = threadIdx.x == 0 ? logit.of(low_half(row[target])) : 0;
  const Softmax softmax =
      combined(statistics(row, vectors, cached, cache, logit), warp_tops, warp_totals);
  if (threadIdx.x == 0) loss[blockIdx.x] = logf(softmax.total) + (softmax.top - picked);
  if (Writes) write_gradient(row, vectors, cached, cache, {softmax, scale, target}, logit);
}

void check_sizes(const std::uint16_t* logits, std::int64_t tokens, std::int64_t vocab) {
  check(tokens > 0, "a loss has tokens");
  check(vocab > 0 && vocab % kVector == 0 && vocab <= INT32_MAX / 2,
        "the vocabulary of a loss is a multiple of 8");
  check(aligned(logits), "logits are 16-byte aligned");
}

unsigned threads_for(std::int64_t vocab) {
  return static_cast<unsigned>(
      std::min<std::int64_t>(ceil_div(vocab / kVector, kWarp) * kWarp, kMaxThreads));
}

/// Size of a block's dynamic shared memory, so that kResident blocks fit; it affects no bit of any
/// result.
std::int64_t cache_bytes() {
  int device = 0, bytes = 48 * 1024;
  if (cudaGetDevice(&device) == cudaSuccess) {
    cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device);
  }
  // CUDA takes 1 KiB of each block, warp_tops and warp_totals the rest.
  constexpr int kOwnBytes = 1024 + 512;
  return (bytes / kResident - kOwnBytes) / 16 * 16;
}

constexpr int kSumThreads = 1024;

__global__ void __launch_bounds__(kSumThreads)
    add_losses(const float* loss, std::int64_t tokens, double* sum) {
  __shared__ double warp_sums[kWarp];
  double mine = 0;
  for (std::int64_t token = threadIdx.x; token < tokens; token += kSumThreads) {
    mine += static_cast<double>(loss[token]);
  }
  mine = block_sum(mine, warp_sums);
  if (threadIdx.x == 0) *sum = mine;
}

__global__ void __launch_bounds__(kSumThreads)
    change_values(Changed logit, int elements, float* logits) {
  const int i = static_cast<int>(blockIdx.x * kSumThreads + threadIdx.x);
  if (i < elements) logits[i] = logit.of(logits[i]);
}

}  // namespace

void cross_entropy(CUstream_st* stream, std::uint16_t* logits, const std::int32_t* targets,
                   std::int64_t tokens, std::int64_t vocab, float scale, float* loss,
                   const LogitChange& change) {
  check_sizes(logits, tokens, vocab);
  const std::int64_t bytes = std::min(cache_bytes(), vocab * 2);
  const auto launch = [&](auto logit) {
    const auto kernel = cross_entropy_row<true, decltype(logit)>;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         static_cast<int>(bytes));
    kernel<<<static_cast<unsigned>(tokens), threads_for(vocab), static_cast<std::size_t>(bytes),
             stream>>>(logits, targets, static_cast<int>(vocab), static_cast<int>(bytes / 16),
                       scale * change.factor, loss, logit);
    check_launch("cross_entropy");
  };
  change.changes() ? launch(Changed{change}) : launch(Same{});
}

void cross_entropy_loss(CUstream_st* stream, const std::uint16_t* logits,
                        const std::int32_t* targets, std::int64_t tokens, std::int64_t vocab,
                        float* loss, const LogitChange& change) {
  check_sizes(logits, tokens, vocab);
  const auto launch = [&](auto logit) {
    // Without Writes the kernel only reads.
    cross_entropy_row<false><<<static_cast<unsigned>(tokens), threads_for(vocab), 0, stream>>>(
        const_cast<std::uint16_t*>(logits), targets, static_cast<int>(vocab), 0, 0, loss, logit);
    check_launch("cross_entropy_loss");
  };
  change.changes() ? launch(Changed{change}) : launch(Same{});
}

void change_logits(CUstream_st* stream, const LogitChange& change, std::int64_t elements,
                   float* logits) {
  check(elements > 0 && elements <= INT32_MAX / 2, "there are logits");
  change_values<<<static_cast<unsigned>(ceil_div(elements, kSumThreads)), kSumThreads, 0, stream>>>(
      Changed{change}, static_cast<int>(elements), logits);
  check_launch("change_logits");
}

void sum_losses(CUstream_st* stream, const float* loss, std::int64_t tokens, double* sum) {
  add_losses<<<1, kSumThreads, 0, stream>>>(loss, tokens, sum);
  check_launch("sum_losses");
}

}  // namespace sluice::engine::cuda
