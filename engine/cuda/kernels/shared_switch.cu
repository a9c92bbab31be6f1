#include "engine/cuda/kernels/shared_switch.hpp"
#include "engine/cuda/kernels/vector.cuh"
#include "planner/scratch/cuda_workspace.hpp"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) to_shares(std::int64_t tokens, float* shares) {
  const std::int64_t token = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (token < tokens) shares[token] = 1.0f / (1.0f + expf(-shares[token]));
}

__global__ void __launch_bounds__(kThreads)
    to_logits(const float* shares, const float* d_shares, std::int64_t tokens,
              std::uint16_t* d_logits) {
  const std::int64_t token = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (token >= tokens) return;
  const float s = shares[token];
  store(d_logits, token * kVector, make_uint4(pack(d_shares[token] * s * (1.0f - s), 0), 0, 0, 0));
}
static_assert(planner::router_row(1) == kVector);

unsigned blocks_of(std::int64_t tokens) {
  check(tokens > 0 && tokens <= INT32_MAX, "a switch has tokens");
  return static_cast<unsigned>(ceil_div(tokens, kThreads));
}

}  // namespace

void switch_shares(CUstream_st* stream, std::int64_t tokens, float* shares) {
  to_shares<<<blocks_of(tokens), kThreads, 0, stream>>>(tokens, shares);
  check_launch("switch_shares");
}

void switch_shares_backward(CUstream_st* stream, const float* shares, const float* d_shares,
                            std::int64_t tokens, std::uint16_t* d_logits) {
  check(aligned(d_logits), "gradients are 16-byte aligned");
  to_logits<<<blocks_of(tokens), kThreads, 0, stream>>>(shares, d_shares, tokens, d_logits);
  check_launch("switch_shares_backward");
}

}  // namespace sluice::engine::cuda
