// Causal attention of a few tokens that continue a sequence, over the keys and values of all
// earlier tokens, with the arithmetic and the rounding points of engine/host/attention.cpp.
#include <algorithm>

#include "engine/host/block_run.hpp"

namespace sluice::engine {

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
      kernels_.rotary(row(offsets_.k, from, dim), dim, rotary_row(position), scales.weight,
                      scales.of(from), rotated);
      kernels_.store(rotated, dim, row(kept.data, to, dim));
      kernels_.load(row(offsets_.v, from, dim), dim, rotated);
      const std::int64_t values = job_.seq_len * shape_.kv_heads + to;
      kernels_.store(rotated, dim, row(kept.data, values, dim));
    }
  }
}

void BlockRun::load_kept(const KeptKeys& kept, std::int64_t kv_head) {
  const std::int64_t dim = shape_.head_dim;
  const std::byte* data = kept.data;
  for (std::int64_t i = first_key(kept.first, 0); i < kept.first + tokens_; ++i) {
    const std::int64_t key = i * shape_.kv_heads + kv_head;
    const std::int64_t value = job_.seq_len * shape_.kv_heads + key;
    kernels_.load(row(data, key, dim), dim, scratch(space_.keys) + i * dim);
    kernels_.load(row(data, value, dim), dim, scratch(space_.values) + i * dim);
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
  product(count, dim, visible, Transpose::none, {scores, visible},
          {scratch(space_.values) + low * dim, dim}, Into::overwrite, {output, dim});
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t index = (begin + i) * shape_.heads + head;
    leave_sink(output + i * dim, i);
    kernels_.store(output + i * dim, dim, row(offsets_.attention, index, dim));
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
