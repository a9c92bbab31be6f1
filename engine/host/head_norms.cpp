// RMS norms of queries and keys, over each head or over all heads together, and their rotation's
// backward pass.
#include "engine/host/block_run.hpp"

namespace sluice::engine {

// The reciprocal root mean squares are part of the record, beside the q and k that they belong to.
void BlockRun::measure_heads(const Slot& norm, Bytes tensor, Bytes rstd, std::int64_t width,
                             Tile tile) const {
  if (!norm.exists()) return;
  const std::int64_t each = norm.size();
  const std::int64_t per_token = width / each;
  auto* scales = reinterpret_cast<float*>(record_.at(rstd));
  for (std::int64_t i = tile.begin * per_token; i < (tile.begin + tile.count) * per_token; ++i) {
    scales[i] = kernels_.reciprocal_rms(row(tensor, i, each), each, eps_);
  }
}

BlockRun::HeadScales BlockRun::head_scales(const Slot& norm, Bytes rstd, std::int64_t head) {
  if (!norm.exists()) return {};
  const bool per_head = norm.size() == shape_.head_dim;
  return {.weight = norm_weight(norm) + (per_head ? 0 : head * shape_.head_dim),
          .rstd = reinterpret_cast<const float*>(record_.at(rstd)),
          .heads = per_head ? 1 : norm.size() / shape_.head_dim};
}

void BlockRun::unrotate(std::int64_t heads, float* d) const {
  std::int64_t start = 0;
  for (std::int64_t token = 0; token < tokens_; ++token) {
    const std::int64_t position = token % job_.seq_len;
    start = next_start(token - position, position, position == 0 ? 0 : start);
    const RotaryRow rotation = rotary_row(position - start);
    for (std::int64_t head = 0; head < heads; ++head) {
      plain_.unrotate(d + (token * heads + head) * shape_.head_dim, rotation);
    }
  }
}

void BlockRun::head_norm_backward(const Slot& norm, Bytes tensor, Bytes rstd, std::int64_t width,
                                  float* gradient, float* d) {
  if (!norm.exists()) return kernels_.round(d, tokens_ * width);
  const std::int64_t each = norm.size();
  const float* weight = norm_weight(norm);
  const auto* scales = reinterpret_cast<const float*>(record_.at(rstd));
  for (std::int64_t i = 0; i < tokens_ * (width / each); ++i) {
    kernels_.head_norm_backward(row(tensor, i, each), each, weight, scales[i],
                                gradient + norm.offset, d + i * each);
  }
}

void BlockRun::rotary_backward(float* gradient) {
  unrotate(shape_.heads, scratch(space_.d_query));
  unrotate(shape_.kv_heads, scratch(space_.d_key));
  head_norm_backward(slots_.q_norm, offsets_.q, offsets_.q_rstd, query_width_, gradient,
                     scratch(space_.d_query));
  head_norm_backward(slots_.k_norm, offsets_.k, offsets_.k_rstd, key_width_, gradient,
                     scratch(space_.d_key));
  kernels_.round(scratch(space_.d_value), tokens_ * key_width_);
}

}  // namespace sluice::engine
