#include <cuda_runtime.h>

#include <algorithm>
#include <string>

#include "engine/cuda/adamw.hpp"
#include "engine/master_weights.hpp"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMaxBlocks = 4096;  ///< Enough to fill any device; threads stride beyond it.

__device__ float wire_gradient(const float* gradient, std::int64_t i) { return gradient[i]; }
__device__ float wire_gradient(const std::uint16_t* gradient, std::int64_t i) {
  return bf16_to_float(gradient[i]);
}

template <class Wire>
__global__ void update(AdamWOperands operands, const Wire* gradient, std::int64_t begin,
                       std::int64_t end, bool decays, AdamWStep step) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = begin + static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < end; i += stride) {
    const float g = __fmul_rn(wire_gradient(gradient, i), step.clip_scale);
    const float m = __fmaf_rn(step.one_minus_beta1, g, __fmul_rn(step.beta1, operands.m[i]));
    const float v =
        __fmaf_rn(step.one_minus_beta2, __fmul_rn(g, g), __fmul_rn(step.beta2, operands.v[i]));
    const float d = __fmaf_rn(__fsqrt_rn(v), step.inverse_root_correction2, step.eps);
    float p = join_master({operands.high[i], operands.low[i]});
    if (decays) p = __fmaf_rn(step.minus_decay, p, p);
    p = __fmaf_rn(step.minus_step_size, __fdiv_rn(m, d), p);
    const SplitMaster halves = split_master(p);
    operands.m[i] = m;
    operands.v[i] = v;
    operands.high[i] = halves.high;
    operands.low[i] = halves.low;
  }
}

}  // namespace

void adamw_update(const AdamWOperands& operands, std::int64_t begin, std::int64_t end, bool decays,
                  const AdamWStep& step, CUstream_st* stream) {
  if (begin >= end) return;
  const auto blocks =
      static_cast<unsigned>(std::min((end - begin + kThreads - 1) / kThreads, kMaxBlocks));
  if (operands.wire == planner::GradientWire::bf16) {
    update<<<blocks, kThreads, 0, stream>>>(
        operands, static_cast<const std::uint16_t*>(operands.gradient), begin, end, decays, step);
  } else {
    update<<<blocks, kThreads, 0, stream>>>(operands, static_cast<const float*>(operands.gradient),
                                            begin, end, decays, step);
  }
  if (const cudaError_t status = cudaGetLastError(); status != cudaSuccess) {
    throw EnvironmentError(std::string("the AdamW kernel was refused by the CUDA runtime: ") +
                           cudaGetErrorString(status));
  }
}

}  // namespace sluice::engine::cuda
