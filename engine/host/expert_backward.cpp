// Backward pass of a mixture of experts.
#include <algorithm>

#include "engine/host/block_run.hpp"

namespace sluice::engine {

void BlockRun::experts_backward(float* gradient, std::byte* stream_gradient) {
  Routes routes = chosen_routes();
  std::fill_n(scratch(space_.routes.mixed), tokens_ * shape_.hidden, 0.0f);
  for_expert_tiles(routes, [&](ExpertTile tile) {
    expert_tile_backward(routes, tile, gradient, stream_gradient);
  });
  shared_backward(gradient, stream_gradient);
  router_backward(routes, gradient, stream_gradient);
}

void BlockRun::expert_tile_backward(Routes& routes, ExpertTile tile, float* gradient,
                                    const std::byte* stream_gradient) {
  const ExpertSlots& slots = slots_.experts;
  const Projection gate = slots.of(slots.gate, tile.expert);
  const Projection up = slots.of(slots.up, tile.expert);
  const Projection down = slots.of(slots.down, tile.expert);
  const std::int64_t width = shape_.experts->intermediate;
  const std::int64_t hidden = shape_.hidden;
  float* dy = scratch(space_.incoming);
  float* wide = scratch(space_.wide);
  float* d_wide = scratch(space_.d_wide);
  float* normed = scratch(space_.normed);
  float* d_normed = scratch(space_.d_normed);
  float* panel = scratch(space_.panel);
  gather(routes, tile, stream_gradient, dy);
  scale_branch(dy, tile.count);
  activate(tile, wide);
  multiply_transposed(dy, tile.count, matrix(down.weight), panel, Into::overwrite, d_wide);
  const auto dot = elementwise(planner::ComputeType::fp32).dot;
  for (std::int64_t i = 0; i < tile.count; ++i) {
    routes.set_share_gradient(tile.begin + i, dot(d_wide + i * width, wide + i * width, width));
  }
  bias_backward(routes, tile, down.bias, dy, gradient);
  weigh(routes, tile, wide);
  kernels_.round(wide, tile.count * width);
  accumulate_outer(dy, wide, tile.count, hidden, width, gradient + down.weight.offset);
  weigh(routes, tile, d_wide);
  activation_.backward(row(offsets_.gate, tile.begin, width), row(offsets_.up, tile.begin, width),
                       tile.count * width, wide, d_wide);
  normalize_routes(routes, tile);
  project_backward(gate, wide, normed, tile.count, gradient);
  project_backward(up, d_wide, normed, tile.count, gradient);
  multiply_transposed(wide, tile.count, matrix(gate.weight), panel, Into::overwrite, d_normed);
  multiply_transposed(d_wide, tile.count, matrix(up.weight), panel, Into::accumulate, d_normed);
  scatter(routes, tile, d_normed);
}

// The bias joins the sum of a token's experts as share * bias: d share += dy bias, d bias += share
// dy.
void BlockRun::bias_backward(Routes& routes, ExpertTile tile, const Slot& bias, const float* dy,
                             float* gradient) {
  if (!bias.exists()) return;
  const auto dot = elementwise(planner::ComputeType::fp32).dot;
  const float* values = vector(bias);
  float* d_bias = gradient + bias.offset;
  for (std::int64_t i = 0; i < tile.count; ++i) {
    const std::int64_t route = tile.begin + i;
    const float* row = dy + i * shape_.hidden;
    const float share = routes.share(route);
    routes.set_share_gradient(route,
                              routes.share_gradient(route) + dot(row, values, shape_.hidden));
    for (std::int64_t c = 0; c < shape_.hidden; ++c) d_bias[c] += share * row[c];
  }
}

// With softmax, d logit = p (dp - sum of dp p); with sigmoid, d logit = dp p (1 - p). The balancing
// loss of a micro-batch is experts * sum over experts of F P, where F is an expert's routes and P
// the mean of its p, both over all tokens and blocks; F is a constant: dp += coefficient * experts
// * F / (tokens * blocks)^2 / micro-batches.
void BlockRun::router_backward(const Routes& routes, float* gradient, std::byte* stream_gradient) {
  const Projection& router = slots_.experts.router;
  const std::int64_t hidden = shape_.hidden;
  const std::int64_t experts = routes.experts();
  const auto* counts = reinterpret_cast<const float*>(stream_gradient + offsets_.counts.count());
  const float balance = job_.balance_weight(tokens_);
  const auto dot = elementwise(planner::ComputeType::fp32).dot;
  float* probability = scratch(space_.wide);
  float* d_logits = scratch(space_.d_wide);
  for_tiles([&](Tile tile) {
    for (std::int64_t i = 0; i < tile.count; ++i) {
      const std::int64_t token = tile.begin + i;
      float* d = d_logits + i * experts;
      routes.score(router_logits(token), probability);
      routes.probability_gradient(token, probability, d);
      if (balance != 0) {
        for (std::int64_t e = 0; e < experts; ++e) d[e] += balance * counts[e];
      }
      if (shape_.experts->score == planner::RouterScore::sigmoid) {
        for (std::int64_t e = 0; e < experts; ++e) d[e] *= probability[e] * (1 - probability[e]);
      } else {
        plain_.softmax_backward(probability, experts, dot(d, probability, experts), 1.0f, d);
      }
    }
    kernels_.round(d_logits, tile.count * experts);
    const float* residual = normalize(offsets_.residual, slots_.norm_before_mlp, tile);
    float* d_normed = scratch(space_.routes.mixed) + tile.begin * hidden;
    project_backward(router, d_logits, scratch(space_.normed), tile.count, gradient);
    multiply_transposed(d_logits, tile.count, matrix(router.weight), scratch(space_.panel),
                        Into::accumulate, d_normed);
    std::byte* stream = row(stream_gradient, tile.begin, hidden);
    const float* dy = values(stream, tile.count * hidden, scratch(space_.incoming));
    norm_backward(d_normed, residual, slots_.norm_before_mlp, tile, dy, gradient, stream);
  });
}

}  // namespace sluice::engine
