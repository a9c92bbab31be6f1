// AdamW on moments of fewer than 32 bits: a warp has one block of kMomentBlock elements at a time,
// each lane eight neighbours of it.
#include <cuda_runtime.h>

#include <algorithm>
#include <string>

#include "engine/cuda/kernels/adamw.hpp"
#include "engine/cuda/kernels/adamw_element.cuh"
#include "engine/cuda/kernels/launch.hpp"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

using planner::kMomentBlock;
using planner::StateType;

constexpr int kThreads = 256;
constexpr int kWarp = 32;
constexpr int kEach = 8;                   ///< Number of elements of a lane.
constexpr std::int64_t kMaxBlocks = 2048;  ///< Enough to fill any device; warps stride beyond it.
constexpr unsigned kAllLanes = 0xffffffffu;
static_assert(kWarp * kEach == kMomentBlock);

__constant__ MomentMap first_map = kFirstMomentMap;
__constant__ MomentMap second_map = kSecondMomentMap;

/// Spans that reach into the blocks of one launch, in order.
struct SpanTable {
  static constexpr int kMost = 64;
  AdamWSpan span[kMost];
  int count;
};

/// The part of a unit that a launch updates.
struct Part {
  std::int64_t first;       ///< Position of its first element in the unit's vector.
  std::int64_t begin, end;  ///< Moment blocks, counted from the first of the part.
};

/// Eight 16-bit values of 16 aligned bytes.
union EightHalves {
  uint4 bits;
  std::uint16_t value[kEach];
};

__device__ void read_gradient(const float* gradient, std::int64_t i, float (&out)[kEach]) {
  const float4 low = *reinterpret_cast<const float4*>(gradient + i);
  const float4 high = *reinterpret_cast<const float4*>(gradient + i + 4);
  out[0] = low.x, out[1] = low.y, out[2] = low.z, out[3] = low.w;
  out[4] = high.x, out[5] = high.y, out[6] = high.z, out[7] = high.w;
}

__device__ void read_gradient(const std::uint16_t* gradient, std::int64_t i, float (&out)[kEach]) {
  EightHalves halves;
  halves.bits = *reinterpret_cast<const uint4*>(gradient + i);
  for (int k = 0; k < kEach; ++k) out[k] = bf16_to_float(halves.value[k]);
}

/// Updates a lane's elements from element `i` of the part on: those that lie in a span.
template <class Wire>
__device__ void update_eight(const AdamWOperands& state, const Wire* gradient, std::int64_t first,
                             std::int64_t i, const SpanTable& spans, const AdamWStep& step,
                             float (&m)[kEach], float (&v)[kEach]) {
  float g[kEach];
  read_gradient(gradient, i, g);
  EightHalves high, low;
  high.bits = *reinterpret_cast<const uint4*>(state.high + i);
  low.bits = *reinterpret_cast<const uint4*>(state.low + i);
  int at = 0;
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const std::int64_t position = first + i + k;
    while (at < spans.count && spans.span[at].end <= position) ++at;
    if (at == spans.count || position < spans.span[at].begin) continue;  // Padding.
    const Element e =
        updated({m[k], v[k], {high.value[k], low.value[k]}}, g[k], spans.span[at].decays, step);
    m[k] = e.m, v[k] = e.v;
    high.value[k] = e.master.high, low.value[k] = e.master.low;
  }
  *reinterpret_cast<uint4*>(state.high + i) = high.bits;
  *reinterpret_cast<uint4*>(state.low + i) = low.bits;
}

__device__ void read_halves(const std::byte* stored, std::int64_t i, float (&out)[kEach]) {
  EightHalves halves;
  halves.bits = *reinterpret_cast<const uint4*>(stored + 2 * i);
  for (int k = 0; k < kEach; ++k) out[k] = bf16_to_float(halves.value[k]);
}

template <class Wire>
__global__ void __launch_bounds__(kThreads)
    update_bf16(AdamWOperands state, SmallMoments moments, const Wire* gradient, Part part,
                SpanTable spans, const AdamWStep* constants) {
  __shared__ AdamWStep step;
  if (threadIdx.x == 0) step = *constants;
  __syncthreads();
  if (step.changes_nothing) return;
  const RoundingKey unit_key = rounding_key(step.rounding, moments.unit);
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * (kThreads / kWarp);
  std::int64_t block =
      part.begin + static_cast<std::int64_t>(blockIdx.x) * (kThreads / kWarp) + threadIdx.x / kWarp;
  for (; block < part.end; block += stride) {
    const std::int64_t i = block * kMomentBlock + (threadIdx.x % kWarp) * kEach;
    if (i >= moments.elements) continue;
    float m[kEach], v[kEach];
    read_halves(moments.m, i, m);
    read_halves(moments.v, i, v);
    update_eight(state, gradient, part.first, i, spans, step, m, v);
    EightHalves m_out, v_out;
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const std::int64_t position = part.first + i + k;
      const std::uint32_t random =
          random_word(key_at(unit_key, position), static_cast<std::uint32_t>(position));
      m_out.value[k] = stochastic_bf16(m[k], random & 0xffffu);
      v_out.value[k] = stochastic_bf16(v[k], random >> 16);
    }
    *reinterpret_cast<uint4*>(moments.m + 2 * i) = m_out.bits;
    *reinterpret_cast<uint4*>(moments.v + 2 * i) = v_out.bits;
  }
}

/// Eight codes of 8 aligned bytes.
union EightCodes {
  uint2 bits;
  std::uint8_t value[kEach];
};

__device__ void read_codes(const float* value, const std::byte* stored, float scale,
                           float (&out)[kEach]) {
  EightCodes codes;
  codes.bits = *reinterpret_cast<const uint2*>(stored);
#pragma unroll
  for (int k = 0; k < kEach; ++k) out[k] = __fmul_rn(value[codes.value[k]], scale);
}

/// Stores a lane's codes of the warp's block, and returns the block's scale.
template <bool kSigned>
__device__ float store_codes(const MomentMap& map, const float (&values)[kEach],
                             std::byte* stored) {
  std::uint32_t largest = 0;
#pragma unroll
  for (int k = 0; k < kEach; ++k) largest = max(largest, __float_as_uint(values[k]) & 0x7fffffffu);
  largest = __reduce_max_sync(kAllLanes, largest);
  const float scale = moment_scale(__uint_as_float(largest));
  const float inverse = inverse_scale(scale);
  EightCodes codes;
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const std::uint32_t bits = __float_as_uint(values[k]);
    const float magnitude = __fmul_rn(__uint_as_float(bits & 0x7fffffffu), inverse);
    const auto code = static_cast<std::uint32_t>(moment_code(map, magnitude));
    codes.value[k] = static_cast<std::uint8_t>(code | (kSigned ? bits >> 31 << 7 : 0u));
  }
  *reinterpret_cast<uint2*>(stored) = codes.bits;
  return scale;
}

template <class Wire>
__global__ void __launch_bounds__(kThreads)
    update_int8(AdamWOperands state, SmallMoments moments, const Wire* gradient, Part part,
                SpanTable spans, const AdamWStep* constants) {
  __shared__ AdamWStep step;
  __shared__ float first_value[256], second_value[256];
  static_assert(kThreads == 256);
  first_value[threadIdx.x] = first_map.value[threadIdx.x];
  second_value[threadIdx.x] = second_map.value[threadIdx.x];
  if (threadIdx.x == 0) step = *constants;
  __syncthreads();
  if (step.changes_nothing) return;
  const std::int64_t scales = scales_behind(moments.elements);
  auto* m_scale = reinterpret_cast<float*>(moments.m + scales);
  auto* v_scale = reinterpret_cast<float*>(moments.v + scales);
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * (kThreads / kWarp);
  std::int64_t block =
      part.begin + static_cast<std::int64_t>(blockIdx.x) * (kThreads / kWarp) + threadIdx.x / kWarp;
  for (; block < part.end; block += stride) {
    const int lane = threadIdx.x % kWarp;
    const std::int64_t i = block * kMomentBlock + lane * kEach;
    float m[kEach], v[kEach];
    read_codes(first_value, moments.m + i, m_scale[block], m);
    read_codes(second_value, moments.v + i, v_scale[block], v);
    // Behind the unit's vector, the last block has codes of zeros alone.
    if (i < moments.elements) {
      update_eight(state, gradient, part.first, i, spans, step, m, v);
    }
    __syncwarp();
    const float m_new = store_codes<true>(first_map, m, moments.m + i);
    const float v_new = store_codes<false>(second_map, v, moments.v + i);
    if (lane == 0) m_scale[block] = m_new, v_scale[block] = v_new;
  }
}

template <class Wire>
void launch(const AdamWOperands& operands, const SmallMoments& moments, const Part& part,
            const SpanTable& spans, const AdamWStep* step, CUstream_st* stream) {
  const auto blocks = static_cast<unsigned>(
      std::min(ceil_div(part.end - part.begin, kThreads / kWarp), kMaxBlocks));
  const auto* gradient = static_cast<const Wire*>(operands.gradient);
  if (moments.type == StateType::bf16) {
    update_bf16<<<blocks, kThreads, 0, stream>>>(operands, moments, gradient, part, spans, step);
  } else {
    update_int8<<<blocks, kThreads, 0, stream>>>(operands, moments, gradient, part, spans, step);
  }
  check_launch("AdamW on small moments");
}

}  // namespace

void adamw_update(const AdamWOperands& operands, const SmallMoments& moments,
                  std::span<const AdamWSpan> spans, std::int64_t first, const AdamWStep* step,
                  CUstream_st* stream) {
  if (spans.empty()) return;
  check(first % kMomentBlock == 0 && moments.elements % kEach == 0 &&
            aligned(operands.high, operands.low, moments.m, moments.v) &&
            aligned(static_cast<const std::byte*>(operands.gradient)),
        "an update of small moments starts at a whole block of aligned arrays");
  const std::int64_t elements = std::min(moments.elements, spans.back().end - first);
  if (elements <= 0) return;  // A slice of nothing but padding.
  const std::int64_t blocks = ceil_div(elements, kMomentBlock);
  // Launches of as many spans as a kernel takes; a block with spans of two launches is in the
  // later.
  for (std::int64_t begin = 0; begin < blocks;) {
    while (spans.front().end <= first + begin * kMomentBlock) spans = spans.subspan(1);
    SpanTable table{};
    table.count = static_cast<int>(std::min<std::size_t>(spans.size(), SpanTable::kMost));
    std::copy_n(spans.begin(), table.count, table.span);
    std::int64_t end = blocks;
    if (spans.size() > SpanTable::kMost) {
      end = std::clamp((spans[SpanTable::kMost].begin - first) / kMomentBlock, begin, blocks);
      check(end > begin, "a block has fewer spans than a launch");
    }
    const Part part{first, begin, end};
    if (operands.wire == planner::GradientWire::bf16) {
      launch<std::uint16_t>(operands, moments, part, table, step, stream);
    } else {
      launch<float>(operands, moments, part, table, step, stream);
    }
    begin = end;
  }
}

}  // namespace sluice::engine::cuda
