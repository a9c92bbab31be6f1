// Grouped-query causal attention, exact: for each query tile the scores of all visible keys exist
// at once, so the softmax needs no running rescaling; the backward pass rebuilds the probabilities
// from the saved log-sum-exp (Dao et al., "FlashAttention", section 3.1 and appendix B).
#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/host/block_run.hpp"

namespace sluice::engine {

RotaryRow BlockRun::rotary_row(std::int64_t position) const {
  if (layer_.rotary == nullptr) return {nullptr, nullptr, 0};
  const std::int64_t pairs = layer_.pairs;
  return {layer_.rotary->cos.data() + position * pairs,
          layer_.rotary->sin.data() + position * pairs, pairs};
}

void BlockRun::grow_queries(std::int64_t begin, std::int64_t count, float* rows,
                            std::int64_t stride) const {
  const planner::Scales& scales = shape_.scales;
  if (scales.query_growth == 0) return;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t position = begin + i - starts_[static_cast<std::size_t>(i)];
    const std::int64_t periods = position / scales.query_growth_from;
    const double factor = 1 + scales.query_growth * std::log1p(static_cast<double>(periods));
    plain_.scale(rows + i * stride, shape_.head_dim, static_cast<float>(factor));
    kernels_.round(rows + i * stride, shape_.head_dim);
  }
}

std::int64_t BlockRun::next_start(std::int64_t first_token, std::int64_t position,
                                  std::int64_t before) const {
  const bool begins = record_.documents != nullptr && record_.documents[first_token + position] < 0;
  return begins ? position : before;
}

std::int64_t BlockRun::document_start(std::int64_t first_token, std::int64_t position) const {
  if (record_.documents == nullptr) return 0;
  while (position > 0 && record_.documents[first_token + position] >= 0) --position;
  return position;
}

void BlockRun::find_documents(std::int64_t first_token, std::int64_t begin, std::int64_t count) {
  std::int64_t start = document_start(first_token, begin);
  for (std::int64_t i = 0; i < count; ++i) {
    start = next_start(first_token, begin + i, start);
    starts_[static_cast<std::size_t>(i)] = start;
  }
}

std::int64_t BlockRun::first_key(std::int64_t begin, std::int64_t i) const {
  const std::int64_t start = starts_[static_cast<std::size_t>(i)];
  const std::optional<std::int64_t> window = shape_.kinds.front().window;
  return window ? std::max(start, begin + i - *window + 1) : start;
}

void BlockRun::load_key(std::int64_t token, std::int64_t kv_head, std::int64_t position,
                        const HeadScales& scales, float* key) const {
  const std::int64_t index = token * shape_.kv_heads + kv_head;
  if (const auto& latent = shape_.latent) {
    kernels_.rotary(row(offsets_.shared_key, token, latent->rotated), latent->rotated,
                    rotary_row(position), nullptr, 1.0f, key);
    kernels_.load(row(offsets_.k, index, latent->plain), latent->plain, key + latent->rotated);
    return;
  }
  const std::int64_t dim = shape_.head_dim;
  kernels_.rotary(row(offsets_.k, index, dim), dim, rotary_row(position), scales.weight,
                  scales.of(index), key);
}

void BlockRun::load_keys(std::int64_t first_token, std::int64_t kv_head) {
  const std::int64_t dim = shape_.head_dim;
  const HeadScales scales = head_scales(slots_.k_norm, offsets_.k_rstd, kv_head);
  float* keys = scratch(space_.keys);
  float* vals = scratch(space_.values);
  std::int64_t start = 0;
  for (std::int64_t i = 0; i < job_.seq_len; ++i) {
    start = next_start(first_token, i, start);
    const std::int64_t index = (first_token + i) * shape_.kv_heads + kv_head;
    load_key(first_token + i, kv_head, i - start, scales, keys + i * dim);
    kernels_.load(row(offsets_.v, index, value_dim_), value_dim_, vals + i * value_dim_);
  }
}

void BlockRun::load_query(std::int64_t token, std::int64_t begin, std::int64_t count,
                          std::int64_t head) {
  const std::int64_t dim = shape_.head_dim;
  const HeadScales scales = head_scales(slots_.q_norm, offsets_.q_rstd, head);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t index = (token + i) * shape_.heads + head;
    const std::int64_t position = begin + i - starts_[static_cast<std::size_t>(i)];
    kernels_.rotary(row(offsets_.q, index, dim), dim, rotary_row(position), scales.weight,
                    scales.of(index), scratch(space_.query) + i * dim);
  }
  grow_queries(begin, count, scratch(space_.query), dim);
}

void BlockRun::attend_tile(std::int64_t first_token, std::int64_t head, std::int64_t begin) {
  const std::int64_t dim = shape_.head_dim;
  const std::int64_t count = std::min(planner::kQueryTile, job_.seq_len - begin);
  find_documents(first_token, begin, count);
  const std::int64_t low = first_key(begin, 0);
  const std::int64_t visible = begin + count - low;
  float* query = scratch(space_.query);
  float* keys = scratch(space_.keys) + low * dim;
  float* vals = scratch(space_.values) + low * value_dim_;
  float* scores = scratch(space_.scores);
  float* output = scratch(space_.output);
  auto* lse = reinterpret_cast<float*>(record_.at(offsets_.lse));
  load_query(first_token + begin, begin, count, head);
  product(count, visible, dim, Transpose::right, {query, dim}, {keys, dim}, Into::overwrite,
          {scores, visible});
  bound(scores, count * visible);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t position = begin + i;
    const float keys_lse = plain_.softmax(scores + i * visible, visible, first_key(begin, i) - low,
                                          position + 1 - low, softmax_scale());
    lse[(first_token + position) * shape_.heads + head] = join_sink(keys_lse, head, i);
  }
  product(count, value_dim_, visible, Transpose::none, {scores, visible}, {vals, value_dim_},
          Into::overwrite, {output, value_dim_});
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t index = (first_token + begin + i) * shape_.heads + head;
    leave_sink(output + i * value_dim_, i);
    kernels_.store(output + i * value_dim_, value_dim_, row(offsets_.attention, index, value_dim_));
  }
}

void BlockRun::attend() {
  if (slots_.delta.exist()) return mix();
  const std::int64_t group = shape_.heads / shape_.kv_heads;
  for (std::int64_t sequence = 0; sequence < job_.micro_batch; ++sequence) {
    const std::int64_t first = sequence * job_.seq_len;
    for (std::int64_t kv_head = 0; kv_head < shape_.kv_heads; ++kv_head) {
      load_keys(first, kv_head);
      for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
        for (std::int64_t begin = 0; begin < job_.seq_len; begin += planner::kQueryTile) {
          attend_tile(first, head, begin);
        }
      }
    }
  }
}

// P = exp(scale Q K^T - lse), O = P V, delta = rowsum(dO O):
// dV += P^T dO, dS = P (dO V^T - delta) scale, dK += dS^T Q, dQ = dS K.
void BlockRun::attend_tile_backward(std::int64_t first_token, std::int64_t head, std::int64_t begin,
                                    float* gradient) {
  const std::int64_t dim = shape_.head_dim;
  const std::int64_t count = std::min(planner::kQueryTile, job_.seq_len - begin);
  find_documents(first_token, begin, count);
  const std::int64_t low = first_key(begin, 0);
  const std::int64_t visible = begin + count - low;
  const std::int64_t kv_head = head / (shape_.heads / shape_.kv_heads);
  float* query = scratch(space_.query);
  float* keys = scratch(space_.keys) + low * dim;
  float* vals = scratch(space_.values) + low * value_dim_;
  float* scores = scratch(space_.scores);
  float* d_scores = scratch(space_.d_scores);
  const std::int64_t token = first_token + begin;
  const MatrixView d_output{d_attention() + token * query_width_ + head * value_dim_, query_width_};
  // It takes the place of the output's gradient where both have one width.
  const std::int64_t width = shape_.heads * dim;
  const MatrixView d_query{scratch(space_.d_query) + token * width + head * dim, width};
  const std::int64_t key = first_token + low;
  const MatrixView d_keys{scratch(space_.d_key) + key * key_width_ + kv_head * dim, key_width_};
  const MatrixView d_values{scratch(space_.d_value) + key * value_width_ + kv_head * value_dim_,
                            value_width_};
  const auto* lse = reinterpret_cast<const float*>(record_.at(offsets_.lse));
  load_query(token, begin, count, head);
  product(count, visible, dim, Transpose::right, {query, dim}, {keys, dim}, Into::overwrite,
          {scores, visible});
  bound(scores, count * visible);
  for (std::int64_t i = 0; i < count; ++i) {
    plain_.probabilities(scores + i * visible, visible, first_key(begin, i) - low,
                         begin + i + 1 - low, softmax_scale(),
                         lse[(token + i) * shape_.heads + head]);
  }
  product(visible, value_dim_, count, Transpose::left, {scores, visible}, d_output,
          Into::accumulate, d_values);
  product(count, visible, value_dim_, Transpose::right, d_output, {vals, value_dim_},
          Into::overwrite, {d_scores, visible});
  for (std::int64_t i = 0; i < count; ++i) {
    const float delta = kernels_.dot(
        d_output.data + i * query_width_,
        row(offsets_.attention, (token + i) * shape_.heads + head, value_dim_), value_dim_);
    plain_.softmax_backward(scores + i * visible, visible, delta, softmax_scale(),
                            d_scores + i * visible);
    sink_backward(head, lse[(token + i) * shape_.heads + head], delta, gradient);
  }
  if (shape_.scales.attention_softcap) {
    product(count, visible, dim, Transpose::right, {query, dim}, {keys, dim}, Into::overwrite,
            {scores, visible});
    bound(scores, count * visible);
    plain_.softcap_backward(scores, count * visible, score_scale_,
                            static_cast<float>(*shape_.scales.attention_softcap), d_scores);
  }
  product(visible, dim, count, Transpose::left, {d_scores, visible}, {query, dim}, Into::accumulate,
          d_keys);
  product(count, dim, visible, Transpose::none, {d_scores, visible}, {keys, dim}, Into::overwrite,
          d_query);
  grow_queries(begin, count, d_query.data, width);
}

void BlockRun::attention_backward(float* gradient) {
  if (slots_.delta.exist()) return mix_backward(gradient);
  const std::int64_t group = shape_.heads / shape_.kv_heads;
  std::fill_n(scratch(space_.d_key), job_.micro_tokens() * key_width_, 0.0f);
  std::fill_n(scratch(space_.d_value), job_.micro_tokens() * value_width_, 0.0f);
  for (std::int64_t sequence = 0; sequence < job_.micro_batch; ++sequence) {
    const std::int64_t first = sequence * job_.seq_len;
    for (std::int64_t kv_head = 0; kv_head < shape_.kv_heads; ++kv_head) {
      load_keys(first, kv_head);
      for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
        for (std::int64_t begin = 0; begin < job_.seq_len; begin += planner::kQueryTile) {
          attend_tile_backward(first, head, begin, gradient);
        }
      }
    }
  }
}

}  // namespace sluice::engine
