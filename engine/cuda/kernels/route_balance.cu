#include "engine/cuda/kernels/router_logits.cuh"
#include "planner/scratch/cuda_workspace.hpp"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
/// Largest number of partial sums of probabilities.
constexpr std::int64_t kSums = 128;
static_assert(kSums <= planner::kRouteChunks);

/// A block takes `chunk` tokens, each warp every kWarps-th of them: sums [gridDim.x, experts].
__global__ void __launch_bounds__(kThreads)
    sum_probabilities(const float* logits, std::int64_t tokens, int experts, std::int64_t chunk,
                      float* sums) {
  __shared__ float of_warps[kWarps][kMostExperts];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t first = blockIdx.x * chunk;
  const std::int64_t end = min(tokens, first + chunk);
  float sum[kPerLane] = {};
  for (std::int64_t token = first + warp; token < end; token += kWarps) {
    const Logits values = Logits::load(logits + token * experts, experts, lane);
    const float2 scale = values.softmax_scale();
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) sum[i] += expf(values.value[i] - scale.x) / scale.y;
  }
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) of_warps[warp][lane + i * kWarp] = sum[i];
  __syncthreads();
  for (int expert = static_cast<int>(threadIdx.x); expert < experts; expert += kThreads) {
    float total = of_warps[0][expert];
    for (int other = 1; other < kWarps; ++other) total += of_warps[other][expert];
    sums[blockIdx.x * experts + expert] = total;
  }
}

/// Adds a block's sums to those carried on; one thread per expert.
__global__ void __launch_bounds__(kThreads)
    add_block(const std::int32_t* begin, const float* sums, int chunks, int experts,
              const float* before, float* after) {
  const int expert = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (expert >= experts) return;
  double total = 0;
#pragma unroll 8
  for (int chunk = 0; chunk < chunks; ++chunk) total += sums[chunk * experts + expert];
  after[expert] = before[expert] + static_cast<float>(begin[expert + 1] - begin[expert]);
  after[experts + expert] = before[experts + expert] + static_cast<float>(total);
}

/// Computes balance_loss with one warp.
__global__ void multiply_sums(const float* carried, int experts, double scale, double* loss) {
  double sum = 0;
  for (int expert = static_cast<int>(threadIdx.x); expert < experts; expert += kWarp) {
    sum += static_cast<double>(carried[expert]) * carried[experts + expert];
  }
  sum = lane_sum(sum);
  if (threadIdx.x == 0) *loss = scale * sum;
}

}  // namespace

void add_balance(CUstream_st* stream, const float* logits, const RouteShape& shape,
                 const RouteArrays& routes, const float* before, float* after) {
  check(shape.tokens > 0 && shape.experts > 0 && shape.experts <= kMostExperts,
        "tokens of at most 512 experts");
  const int experts = static_cast<int>(shape.experts);
  const std::int64_t chunk = ceil_div(shape.tokens, kSums);
  const std::int64_t chunks = ceil_div(shape.tokens, chunk);
  auto* sums = reinterpret_cast<float*>(routes.counts);
  sum_probabilities<<<static_cast<unsigned>(chunks), kThreads, 0, stream>>>(logits, shape.tokens,
                                                                            experts, chunk, sums);
  check_launch("sum_probabilities");
  add_block<<<static_cast<unsigned>(ceil_div(experts, kThreads)), kThreads, 0, stream>>>(
      routes.begin, sums, static_cast<int>(chunks), experts, before, after);
  check_launch("add_block");
}

void balance_loss(CUstream_st* stream, const float* carried, std::int64_t experts, double scale,
                  double* loss) {
  multiply_sums<<<1, kWarp, 0, stream>>>(carried, static_cast<int>(experts), scale, loss);
  check_launch("balance_loss");
}

}  // namespace sluice::engine::cuda
