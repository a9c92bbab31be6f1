// RMS norms of queries and keys, over each head or over all heads together, and their rotation's
// backward pass.
#include <algorithm>

#include "engine/host/block_run.hpp"

namespace sluice::engine {

std::int64_t BlockRun::normed_together(const Slot& norm) const {
  switch (shape_.head_norm) {
    case planner::HeadNorm::none:
      return 0;
    case planner::HeadNorm::full_width:
      return norm.size();
    case planner::HeadNorm::per_head:
    case planner::HeadNorm::per_head_weightless:
      break;
  }
  return shape_.head_dim;
}

const float* BlockRun::head_norm_weight(const Slot& norm) {
  if (norm.exists()) return norm_weight(norm);
  float* ones = scratch(space_.vector);
  std::fill_n(ones, shape_.head_dim, 1.0f);
  return ones;
}

// The reciprocal root mean squares are part of the record, beside the q and k that they belong to.
void BlockRun::measure_heads(const Slot& norm, Bytes tensor, Bytes rstd, std::int64_t width,
                             Tile tile) const {
  const std::int64_t each = normed_together(norm);
  if (each == 0) return;
  const std::int64_t per_token = width / each;
  auto* scales = reinterpret_cast<float*>(record_.at(rstd));
  for (std::int64_t i = tile.begin * per_token; i < (tile.begin + tile.count) * per_token; ++i) {
    scales[i] = kernels_.reciprocal_rms(row(tensor, i, each), each, eps_);
  }
}

BlockRun::HeadScales BlockRun::head_scales(const Slot& norm, Bytes rstd, std::int64_t head) {
  const std::int64_t each = normed_together(norm);
  if (each == 0) return {};
  const bool per_head = each == shape_.head_dim;
  return {.weight = head_norm_weight(norm) + (per_head ? 0 : head * shape_.head_dim),
          .rstd = reinterpret_cast<const float*>(record_.at(rstd)),
          .heads = each / shape_.head_dim};
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
  const std::int64_t each = normed_together(norm);
  if (each == 0) return kernels_.round(d, tokens_ * width);
  const float* weight = head_norm_weight(norm);
  float* d_weight = norm.exists() ? gradient + norm.offset : nullptr;
  const auto* scales = reinterpret_cast<const float*>(record_.at(rstd));
  for (std::int64_t i = 0; i < tokens_ * (width / each); ++i) {
    kernels_.head_norm_backward(row(tensor, i, each), each, weight, scales[i], d_weight,
                                d + i * each);
  }
}

void BlockRun::rotary_backward(float* gradient) {
  if (slots_.delta.exist()) return;  // Nothing turns.
  if (slots_.latent.exist()) return latent_rotary_backward();
  unrotate(shape_.heads, scratch(space_.d_query));
  unrotate(shape_.kv_heads, scratch(space_.d_key));
  head_norm_backward(slots_.q_norm, offsets_.q, offsets_.q_rstd, query_width_, gradient,
                     scratch(space_.d_query));
  head_norm_backward(slots_.k_norm, offsets_.k, offsets_.k_rstd, key_width_, gradient,
                     scratch(space_.d_key));
  kernels_.round(scratch(space_.d_value), tokens_ * key_width_);
}

}  // namespace sluice::engine
