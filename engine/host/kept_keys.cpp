// Causal attention of a few tokens that continue a sequence, over the keys and values of all
// earlier tokens, with the arithmetic and the rounding points of engine/host/attention.cpp.
#include <algorithm>
#include <cstring>

#include "engine/host/block_run.hpp"

namespace sluice::engine {

std::byte* BlockRun::kept_values(const KeptKeys& kept) const {
  return row(kept.data, job_.seq_len, key_width_);
}

/// Appends the new tokens' rotated keys, and their values as projected, to the kept ones.
void BlockRun::keep_keys(const KeptKeys& kept) {
  const std::int64_t dim = shape_.head_dim;
  float* rotated = scratch(space_.query);
  for (std::int64_t kv_head = 0; kv_head < shape_.kv_heads; ++kv_head) {
    const HeadScales scales = head_scales(slots_.k_norm, offsets_.k_rstd, kv_head);
    for (std::int64_t i = 0; i < tokens_; ++i) {
      const std::int64_t position = kept.first + i;
      const std::int64_t from = i * shape_.kv_heads + kv_head;
      const std::int64_t to = position * shape_.kv_heads + kv_head;
      load_key(i, kv_head, position, scales, rotated);
      kernels_.store(rotated, dim, row(kept.data, to, dim));
      std::memcpy(row(kept_values(kept), to, value_dim_), row(offsets_.v, from, value_dim_),
                  static_cast<std::size_t>(value_dim_ * element_));
    }
  }
}

void BlockRun::load_kept(const KeptKeys& kept, std::int64_t kv_head) {
  const std::int64_t dim = shape_.head_dim;
  for (std::int64_t i = first_key(kept.first, 0); i < kept.first + tokens_; ++i) {
    const std::int64_t key = i * shape_.kv_heads + kv_head;
    kernels_.load(row(kept.data, key, dim), dim, scratch(space_.keys) + i * dim);
    kernels_.load(row(kept_values(kept), key, value_dim_), value_dim_,
                  scratch(space_.values) + i * value_dim_);
  }
}

void BlockRun::attend_kept_tile(const KeptKeys& kept, std::int64_t head, std::int64_t begin) {
  const std::int64_t dim = shape_.head_dim;
  const std::int64_t count = std::min(planner::kQueryTile, tokens_ - begin);
  const std::int64_t low = first_key(kept.first + begin, 0);
  const std::int64_t visible = kept.first + begin + count - low;
  float* scores = scratch(space_.scores);
  float* output = scratch(space_.output);
  load_query(begin, kept.first + begin, count, head);
  product(count, visible, dim, Transpose::right, {scratch(space_.query), dim},
          {scratch(space_.keys) + low * dim, dim}, Into::overwrite, {scores, visible});
  bound(scores, count * visible);
  for (std::int64_t i = 0; i < count; ++i) {
    const float lse =
        plain_.softmax(scores + i * visible, visible, first_key(kept.first + begin, i) - low,
                       kept.first + begin + i + 1 - low, softmax_scale());
    (void)join_sink(lse, head, i);
  }
  product(count, value_dim_, visible, Transpose::none, {scores, visible},
          {scratch(space_.values) + low * value_dim_, value_dim_}, Into::overwrite,
          {output, value_dim_});
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t index = (begin + i) * shape_.heads + head;
    leave_sink(output + i * value_dim_, i);
    kernels_.store(output + i * value_dim_, value_dim_, row(offsets_.attention, index, value_dim_));
  }
}

void BlockRun::attend_kept(const KeptKeys& kept) {
  if (slots_.delta.exist()) return mix_kept(kept);
  keep_keys(kept);
  const std::int64_t group = shape_.heads / shape_.kv_heads;
  for (std::int64_t kv_head = 0; kv_head < shape_.kv_heads; ++kv_head) {
    load_kept(kept, kv_head);
    for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
      for (std::int64_t begin = 0; begin < tokens_; begin += planner::kQueryTile) {
        attend_kept_tile(kept, head, begin);
      }
    }
  }
}

void BlockRun::extend(const KeptKeys& kept) {
  project_qkv();
  attend_kept(kept);
  project_residual();
}

}  // namespace sluice::engine
