// Latent attention around the attention that all blocks share: narrow projections with norms behind
// them, of which queries, keys and values are made, and a turning part of keys that heads share
// (DeepSeek-V2, arXiv 2405.04434, section 2.1).
#include <algorithm>

#include "engine/host/block_run.hpp"

namespace sluice::engine {

const float* BlockRun::normalize_narrow(const Narrow& narrow, Tile tile) {
  const std::int64_t width = narrow.width();
  const float* x = values(row(narrow.tensor, tile.begin, width), tile.count * width,
                          scratch(space_.latent.input));
  kernels_.rms_norm(x, tile.count, width, norm_weight(narrow.norm),
                    static_cast<float>(shape_.latent->norm_eps), scratch(space_.latent.normed),
                    scratch(space_.latent.rstd));
  return x;
}

void BlockRun::project_latent() {
  const auto one = [&](const Projection& projection, const float* from, Tile tile, Bytes tensor) {
    const std::int64_t width = projection.weight.rows;
    project(projection, from, tile.count, scratch(space_.wide));
    kernels_.store(scratch(space_.wide), tile.count * width, row(tensor, tile.begin, width));
  };
  const bool narrow = slots_.latent.query.weight.exists();
  const float* latent = scratch(space_.latent.normed);
  for_tiles([&](Tile tile) {
    normalize(offsets_.x, slots_.norm_before_attention, tile);
    const float* normed = scratch(space_.normed);
    one(slots_.latent.key, normed, tile, offsets_.kv_latent);
    one(slots_.latent.shared, normed, tile, offsets_.shared_key);
    if (narrow) {
      one(slots_.latent.query, normed, tile, offsets_.q_latent);
      normalize_narrow(narrow_query(), tile);
    }
    one(slots_.q, narrow ? latent : normed, tile, offsets_.q);
    normalize_narrow(narrow_key(), tile);
    one(slots_.k, latent, tile, offsets_.k);
    one(slots_.v, latent, tile, offsets_.v);
  });
}

// d_key becomes the gradient of what does not turn, without gaps: rows move towards the front.
void BlockRun::latent_rotary_backward() {
  const planner::LatentAttention& latent = *shape_.latent;
  unrotate(shape_.heads, scratch(space_.d_query));
  unrotate(shape_.heads, scratch(space_.d_key));
  float* d_key = scratch(space_.d_key);
  float* d_shared = scratch(space_.d_shared_key);
  std::fill_n(d_shared, tokens_ * latent.rotated, 0.0f);
  for (std::int64_t head = 0; head < tokens_ * shape_.heads; ++head) {
    const float* from = d_key + head * shape_.head_dim;
    plain_.add(d_shared + head / shape_.heads * latent.rotated, from, latent.rotated);
    std::copy_n(from + latent.rotated, latent.plain, d_key + head * latent.plain);
  }
  kernels_.round(scratch(space_.d_query), tokens_ * slots_.q.weight.rows);
  kernels_.round(d_key, tokens_ * slots_.k.weight.rows);
  kernels_.round(d_shared, tokens_ * latent.rotated);
  kernels_.round(scratch(space_.d_value), tokens_ * value_width_);
}

void BlockRun::narrow_backward(const Narrow& narrow, Tile tile, const float* x, float* gradient,
                               float* d) {
  auto* rounded = reinterpret_cast<std::byte*>(scratch(space_.latent.normed));
  kernels_.rms_norm_backward(scratch(space_.latent.d_normed), x, tile.count, narrow.width(),
                             norm_weight(narrow.norm), scratch(space_.latent.rstd), nullptr,
                             gradient + narrow.norm.offset, rounded);
  kernels_.load(rounded, tile.count * narrow.width(), d);
}

void BlockRun::product_backward(const Projection& projection, const float* dy, const float* x,
                                Tile tile, float* gradient, Into into, float* dx) {
  project_backward(projection, dy, x, tile.count, gradient);
  project_back(projection, dy, tile.count, into, dx);
}

void BlockRun::latent_backward(float* gradient, std::byte* stream_gradient) {
  const bool narrow = slots_.latent.query.weight.exists();
  const float* latent = scratch(space_.latent.normed);
  float* d_latent = scratch(space_.latent.d_normed);
  float* d_queries = scratch(space_.latent.d_query);
  float* d_keys = scratch(space_.latent.d_key);
  const auto gradient_of = [&](const Projection& projection, Bytes region, Tile tile) {
    return scratch(region) + tile.begin * projection.weight.rows;
  };
  for_tiles([&](Tile tile) {
    const float* d_query = gradient_of(slots_.q, space_.d_query, tile);
    if (narrow) {
      const float* queries = normalize_narrow(narrow_query(), tile);
      product_backward(slots_.q, d_query, latent, tile, gradient, Into::overwrite, d_latent);
      narrow_backward(narrow_query(), tile, queries, gradient, d_queries);
    }
    const float* keys = normalize_narrow(narrow_key(), tile);
    product_backward(slots_.k, gradient_of(slots_.k, space_.d_key, tile), latent, tile, gradient,
                     Into::overwrite, d_latent);
    product_backward(slots_.v, gradient_of(slots_.v, space_.d_value, tile), latent, tile, gradient,
                     Into::accumulate, d_latent);
    narrow_backward(narrow_key(), tile, keys, gradient, d_keys);
    const float* x = normalize(offsets_.x, slots_.norm_before_attention, tile);
    const float* normed = scratch(space_.normed);
    float* d_normed = scratch(space_.d_normed);
    product_backward(narrow ? slots_.latent.query : slots_.q, narrow ? d_queries : d_query, normed,
                     tile, gradient, Into::overwrite, d_normed);
    product_backward(slots_.latent.key, d_keys, normed, tile, gradient, Into::accumulate, d_normed);
    product_backward(slots_.latent.shared,
                     gradient_of(slots_.latent.shared, space_.d_shared_key, tile), normed, tile,
                     gradient, Into::accumulate, d_normed);
    std::byte* stream = row(stream_gradient, tile.begin, shape_.hidden);
    const float* dy = values(stream, tile.count * shape_.hidden, scratch(space_.incoming));
    norm_backward(d_normed, x, slots_.norm_before_attention, tile, dy, gradient, stream);
  });
}

}  // namespace sluice::engine
