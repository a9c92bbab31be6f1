// Lengths of q and k of the gated delta rule, and their backward pass.
#include "engine/cuda/kernels/delta_stages.cuh"

namespace sluice::engine::cuda {
namespace {

constexpr float kLengthEps = 1e-6F;

/// One warp per token, key head, and q or k, whose heads lie one behind the other.
__global__ void __launch_bounds__(kDeltaThreads)
    inverse_lengths(const std::uint16_t* mixed, std::int64_t rows, int heads, int key_dim,
                    std::int64_t channels, float* lengths) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t row =
      static_cast<std::int64_t>(blockIdx.x) * kDeltaWarps + static_cast<int>(threadIdx.x) / kWarp;
  if (row >= rows) return;
  const std::uint16_t* x = mixed + row / heads * channels + row % heads * key_dim;
  float squares = 0;
  for (int c = lane; c < key_dim; c += kWarp) {
    const float value = low_half(x[c]);
    squares = fmaf(value, value, squares);
  }
  squares = lane_sum(squares);
  if (lane == 0) lengths[row] = 1.0f / sqrtf(squares + kLengthEps);
}

/// The kernel adds up the gradients du of the unit vectors u that a key head's value heads gave,
/// and writes dx = (du - u (u du)) / |x|: one warp for each token, key head of the part, and q or
/// k.
__global__ void __launch_bounds__(kDeltaThreads)
    pass_lengths(DeltaPartView part, std::uint16_t* d_mixed) {
  constexpr int kPerLane = static_cast<int>(kMostDeltaHead) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t index =
      static_cast<std::int64_t>(blockIdx.x) * kDeltaWarps + static_cast<int>(threadIdx.x) / kWarp;
  const int key_heads = part.heads / part.served;
  if (index >= part.sequences * part.length * key_heads * 2) return;
  const bool is_key = index % 2 != 0;
  const int head = static_cast<int>(index / 2 % key_heads) * part.served;
  const std::int64_t token = index / 2 / key_heads;  // Counted within the part.
  const std::int64_t global_token = part.token(0) + token;
  const float* from = is_key ? part.d_added : part.erased;
  const int stride = is_key ? part.widest() : part.key_dim;
  const std::int64_t place =
      global_token * part.channels + (is_key ? part.k_column(head) : part.q_column(head));
  const int key_head = (part.first_head + head) / part.served;
  const float factor =
      part.lengths[global_token * 2 * part.key_heads + (is_key ? part.key_heads : 0) + key_head];
  const float scale = is_key ? 1.0f : rsqrtf(static_cast<float>(part.key_dim));
  float x[kPerLane], d[kPerLane];
  float along = 0;
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    const int c = lane + i * kWarp;
    x[i] = d[i] = 0;
    if (c >= part.key_dim) continue;
    x[i] = low_half(part.mixed[place + c]);
    for (int h = 0; h < part.served; ++h)
      d[i] += from[(token * part.heads + head + h) * stride + c];
    along = fmaf(x[i], d[i], along);
  }
  along = lane_sum(along) * factor * factor;
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    const int c = lane + i * kWarp;
    if (c >= part.key_dim) continue;
    d_mixed[place + c] =
        static_cast<std::uint16_t>(pack(factor * scale * (d[i] - x[i] * along), 0));
  }
}

}  // namespace

void delta_lengths(CUstream_st* stream, const DeltaRule& rule) {
  const auto heads = static_cast<int>(2 * rule.net.key_heads);
  const std::int64_t rows = rule.sequences * rule.length * heads;
  inverse_lengths<<<static_cast<unsigned>(ceil_div(rows, kDeltaWarps)), kDeltaThreads, 0, stream>>>(
      rule.mixed, rows, heads, static_cast<int>(rule.net.key_dim), rule.net.channels(),
      rule.lengths);
  check_launch("delta_lengths");
}

void delta_lengths_backward(CUstream_st* stream, const DeltaPartView& part,
                            const DeltaRuleGradients& gradients) {
  const std::int64_t rows = part.sequences * part.length * (part.heads / part.served) * 2;
  pass_lengths<<<static_cast<unsigned>(ceil_div(rows, kDeltaWarps)), kDeltaThreads, 0, stream>>>(
      part, gradients.mixed);
  check_launch("delta_lengths_backward");
}

}  // namespace sluice::engine::cuda
