// The gated delta rule token by token, for generation.
#include "engine/cuda/kernels/delta_stages.cuh"

namespace sluice::engine::cuda {
namespace {

/// Groups of threads, each with rows of the state, which have a thread for each of 32 columns.
constexpr int kGroups = kDeltaThreads / kWarp;
constexpr int kRowsEach = static_cast<int>(kMostDeltaHead) / kGroups;

/// Sum over groups of each column's values, in order.
__device__ float group_sum(float value, float (&sums)[kGroups][kWarp], int group, int lane) {
  sums[group][lane] = value;
  __syncthreads();
  float total = sums[0][lane];
  for (int g = 1; g < kGroups; ++g) total += sums[g][lane];
  __syncthreads();
  return total;
}

/// Block (c, h) has the c-th 32 columns of head h's state in registers: thread (group, lane) rows
/// group, group + 8, ... of column `lane`.
__global__ void __launch_bounds__(kDeltaThreads)
    step(DeltaPartView part, std::int64_t tokens, float* states, std::uint16_t* o) {
  __shared__ float sums[kGroups][kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int group = static_cast<int>(threadIdx.x) / kWarp;
  const int head = static_cast<int>(blockIdx.y);
  const int column = static_cast<int>(blockIdx.x) * kWarp + lane;
  const bool exists = column < part.value_dim;
  float* own = states + static_cast<std::int64_t>(head) * part.key_dim * part.value_dim + column;
  float state[kRowsEach];
#pragma unroll
  for (int r = 0; r < kRowsEach; ++r) {
    const int row = group + r * kGroups;
    state[r] = exists && row < part.key_dim ? own[row * part.value_dim] : 0.0f;
  }
  const float scale = rsqrtf(static_cast<float>(part.key_dim));
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::uint16_t* inputs = part.mixed + t * part.channels;
    const float* lengths = part.lengths + t * 2 * part.key_heads + head / part.served;
    const float q_factor = lengths[0] * scale, k_factor = lengths[part.key_heads];
    const float decay = expf(part.g[t * part.value_heads + head]);
    const float beta = part.beta[t * part.value_heads + head];
    float key[kRowsEach], read = 0;
#pragma unroll
    for (int r = 0; r < kRowsEach; ++r) {
      const int row = group + r * kGroups;
      key[r] = row < part.key_dim ? low_half(inputs[part.k_column(head) + row]) * k_factor : 0.0f;
      state[r] *= decay;
      read = fmaf(state[r], key[r], read);
    }
    const float value = exists ? low_half(inputs[part.v_column(head) + column]) : 0.0f;
    const float added = beta * (value - group_sum(read, sums, group, lane));
    float out = 0;
#pragma unroll
    for (int r = 0; r < kRowsEach; ++r) {
      const int row = group + r * kGroups;
      const float query =
          row < part.key_dim ? low_half(inputs[part.q_column(head) + row]) * q_factor : 0.0f;
      state[r] = fmaf(key[r], added, state[r]);
      out = fmaf(state[r], query, out);
    }
    out = group_sum(out, sums, group, lane);
    if (group == 0 && exists) {
      o[(t * part.value_heads + head) * part.value_dim + column] =
          static_cast<std::uint16_t>(pack(out, 0));
    }
  }
#pragma unroll
  for (int r = 0; r < kRowsEach; ++r) {
    const int row = group + r * kGroups;
    if (exists && row < part.key_dim) own[row * part.value_dim] = state[r];
  }
}

}  // namespace

void delta_rule_extend(CUstream_st* stream, const DeltaRule& rule, std::int64_t tokens,
                       float* state, std::uint16_t* o) {
  DeltaRule counted = rule;
  counted.sequences = 1;
  counted.length = tokens;
  delta_lengths(stream, counted);
  const planner::DeltaNet& net = rule.net;
  check(net.key_dim <= kMostDeltaHead && net.value_dim > 0 && tokens > 0,
        "heads of a gated delta net have at most 128 elements");
  const DeltaPartView part{.key_dim = static_cast<int>(net.key_dim),
                           .value_dim = static_cast<int>(net.value_dim),
                           .key_heads = static_cast<int>(net.key_heads),
                           .value_heads = static_cast<int>(net.value_heads),
                           .heads = static_cast<int>(net.value_heads),
                           .served = static_cast<int>(net.value_heads / net.key_heads),
                           .length = tokens,
                           .channels = net.channels(),
                           .mixed = rule.mixed,
                           .g = rule.g,
                           .beta = rule.beta,
                           .lengths = rule.lengths};
  const dim3 grid(static_cast<unsigned>(ceil_div(net.value_dim, kWarp)),
                  static_cast<unsigned>(net.value_heads));
  step<<<grid, kDeltaThreads, 0, stream>>>(part, tokens, state, o);
  check_launch("delta_rule_extend");
}

}  // namespace sluice::engine::cuda
