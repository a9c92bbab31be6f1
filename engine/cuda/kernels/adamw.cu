#include <cuda_runtime.h>

#include <algorithm>
#include <string>

#include "engine/cuda/kernels/adamw.hpp"
#include "engine/cuda/kernels/adamw_element.cuh"
#include "engine/cuda/kernels/launch.hpp"
#include "engine/optimizer/master_weights.hpp"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kFour = 4;                   ///< Number of fp32 elements in a 16-byte access.
constexpr std::int64_t kMaxBlocks = 2048;  ///< Enough to fill any device; threads stride beyond it.

__device__ void read_gradient(const float* gradient, std::int64_t i, float (&out)[kFour]) {
  const float4 four = *reinterpret_cast<const float4*>(gradient + i);
  out[0] = four.x, out[1] = four.y, out[2] = four.z, out[3] = four.w;
}

__device__ void read_gradient(const std::uint16_t* gradient, std::int64_t i, float (&out)[kFour]) {
  const ushort4 four = *reinterpret_cast<const ushort4*>(gradient + i);
  out[0] = bf16_to_float(four.x), out[1] = bf16_to_float(four.y);
  out[2] = bf16_to_float(four.z), out[3] = bf16_to_float(four.w);
}

template <class Wire>
__device__ void update_four(const AdamWOperands& state, const Wire* gradient, std::int64_t i,
                            bool decays, const AdamWStep& step) {
  float g[kFour];
  read_gradient(gradient, i, g);
  float4 m = *reinterpret_cast<float4*>(state.m + i);
  float4 v = *reinterpret_cast<float4*>(state.v + i);
  ushort4 high = *reinterpret_cast<ushort4*>(state.high + i);
  ushort4 low = *reinterpret_cast<ushort4*>(state.low + i);
  const auto one = [&](float gradient_of, float& m_of, float& v_of, unsigned short& high_of,
                       unsigned short& low_of) {
    const Element e = updated({m_of, v_of, {high_of, low_of}}, gradient_of, decays, step);
    m_of = e.m, v_of = e.v, high_of = e.master.high, low_of = e.master.low;
  };
  one(g[0], m.x, v.x, high.x, low.x);
  one(g[1], m.y, v.y, high.y, low.y);
  one(g[2], m.z, v.z, high.z, low.z);
  one(g[3], m.w, v.w, high.w, low.w);
  *reinterpret_cast<float4*>(state.m + i) = m;
  *reinterpret_cast<float4*>(state.v + i) = v;
  *reinterpret_cast<ushort4*>(state.high + i) = high;
  *reinterpret_cast<ushort4*>(state.low + i) = low;
}

__device__ float gradient_at(const float* gradient, std::int64_t i) { return gradient[i]; }
__device__ float gradient_at(const std::uint16_t* gradient, std::int64_t i) {
  return bf16_to_float(gradient[i]);
}

template <class Wire>
__global__ void __launch_bounds__(kThreads)
    update(AdamWOperands state, const Wire* gradient, std::int64_t begin, std::int64_t end,
           bool decays, const AdamWStep* constants) {
  __shared__ AdamWStep step;
  if (threadIdx.x == 0) step = *constants;
  __syncthreads();
  if (step.changes_nothing) return;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads * kFour;
  std::int64_t i = begin + (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kFour;
  for (; i + kFour <= end; i += stride) update_four(state, gradient, i, decays, step);
  for (; i < end; ++i) {
    const Element e = updated({state.m[i], state.v[i], {state.high[i], state.low[i]}},
                              gradient_at(gradient, i), decays, step);
    state.m[i] = e.m, state.v[i] = e.v;
    state.high[i] = e.master.high, state.low[i] = e.master.low;
  }
}

template <class Wire>
void launch(const AdamWOperands& operands, std::int64_t begin, std::int64_t end, bool decays,
            const AdamWStep* step, CUstream_st* stream) {
  const auto blocks =
      static_cast<unsigned>(std::min(ceil_div(end - begin, kThreads * kFour), kMaxBlocks));
  update<<<blocks, kThreads, 0, stream>>>(operands, static_cast<const Wire*>(operands.gradient),
                                          begin, end, decays, step);
  check_launch("AdamW");
}

}  // namespace

void adamw_update(const AdamWOperands& operands, std::int64_t begin, std::int64_t end, bool decays,
                  const AdamWStep* step, CUstream_st* stream) {
  if (begin >= end) return;
  check(begin % kFour == 0 && aligned(operands.high, operands.low, operands.m, operands.v) &&
            aligned(static_cast<const std::byte*>(operands.gradient)),
        "an update starts at a multiple of 4 elements of aligned arrays");
  if (operands.wire == planner::GradientWire::bf16) {
    launch<std::uint16_t>(operands, begin, end, decays, step, stream);
  } else {
    launch<float>(operands, begin, end, decays, step, stream);
  }
}

}  // namespace sluice::engine::cuda
