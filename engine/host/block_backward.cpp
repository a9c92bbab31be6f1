#include "engine/host/block_run.hpp"

namespace sluice::engine {

void BlockRun::mlp_backward(float* gradient, std::byte* stream_gradient) {
  if (shape_.experts) return experts_backward(gradient, stream_gradient);
  const std::int64_t hidden = shape_.hidden;
  const std::int64_t width = shape_.intermediate;
  float* wide = scratch(space_.wide);
  float* d_wide = scratch(space_.d_wide);
  float* d_normed = scratch(space_.d_normed);
  for_mlp_tiles([&](Tile tile) {
    if (job_.chunks_mlp()) {
      expand(tile);
      keep_contraction(tile);
    }
    std::byte* stream = row(stream_gradient, tile.begin, hidden);
    const auto [gate, up] = expanded(tile);
    const float* dy = values(stream, tile.count * hidden, scratch(space_.incoming));
    const float* d = branch_gradient(mlp_branch(), tile, dy, gradient);
    activation_.forward(gate, up, tile.count * width, wide);
    project_backward(slots_.down, d, wide, tile.count, gradient);
    project_back(slots_.down, d, tile.count, Into::overwrite, d_wide);
    activation_.backward(gate, up, tile.count * width, wide, d_wide);
    const float* residual = normalize(offsets_.residual, slots_.norm_before_mlp, tile);
    const float* normed = scratch(space_.normed);
    const bool gated = slots_.gate.weight.exists();
    if (gated) {
      project_backward(slots_.gate, wide, normed, tile.count, gradient);
      project_back(slots_.gate, wide, tile.count, Into::overwrite, d_normed);
    }
    project_backward(slots_.up, d_wide, normed, tile.count, gradient);
    project_back(slots_.up, d_wide, tile.count, gated ? Into::accumulate : Into::overwrite,
                 d_normed);
    norm_backward(d_normed, residual, slots_.norm_before_mlp, tile, dy, gradient, stream);
  });
}

float* BlockRun::d_attention() const {
  const bool own = slots_.delta.exist() || slots_.latent.exist();
  return scratch(own ? space_.d_linear : space_.d_query);
}

void BlockRun::output_backward(float* gradient, const std::byte* stream_gradient) {
  const std::int64_t hidden = shape_.hidden;
  for_tiles([&](Tile tile) {
    const float* incoming = values(row(stream_gradient, tile.begin, hidden), tile.count * hidden,
                                   scratch(space_.incoming));
    const float* dy = branch_gradient(attention_branch(), tile, incoming, gradient);
    const float* attention = gated_attention(tile);
    project_backward(slots_.o, dy, attention, tile.count, gradient);
    project_back(slots_.o, dy, tile.count, Into::overwrite,
                 d_attention() + tile.begin * query_width_);
    attention_gate_backward(tile, gradient);
  });
}

void BlockRun::qkv_backward(float* gradient, std::byte* stream_gradient) {
  if (slots_.latent.exist()) return latent_backward(gradient, stream_gradient);
  const std::int64_t hidden = shape_.hidden;
  float* d_normed = scratch(space_.d_normed);
  for_tiles([&](Tile tile) {
    const float* x = normalize(offsets_.x, slots_.norm_before_attention, tile);
    const auto one = [&](const Projection& projection, Bytes region, Into into) {
      const float* dy = scratch(region) + tile.begin * projection.weight.rows;
      project_backward(projection, dy, scratch(space_.normed), tile.count, gradient);
      project_back(projection, dy, tile.count, into, d_normed);
    };
    one(slots_.q, space_.d_query, Into::overwrite);
    one(slots_.k, space_.d_key, Into::accumulate);
    one(slots_.v, space_.d_value, Into::accumulate);
    if (slots_.attention_gate.weight.exists()) {
      one(slots_.attention_gate, space_.d_attention_gate, Into::accumulate);
    }
    if (slots_.delta.exist()) {
      one(slots_.delta.beta, space_.d_beta, Into::accumulate);
      one(slots_.delta.decay, space_.d_decay, Into::accumulate);
    }
    std::byte* stream = row(stream_gradient, tile.begin, hidden);
    const float* dy = values(stream, tile.count * hidden, scratch(space_.incoming));
    norm_backward(d_normed, x, slots_.norm_before_attention, tile, dy, gradient, stream);
  });
}

}  // namespace sluice::engine
