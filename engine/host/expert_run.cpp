// A block's feed-forward half as a mixture of experts: each token passes through a few networks
// chosen by a router; networks are computed one after another, each over the rows of its tokens.
#include <algorithm>
#include <cstring>

#include "engine/host/block_run.hpp"

namespace sluice::engine {

template <class Body>
void BlockRun::for_expert_tiles(const Routes& routes, Body body) const {
  for (std::int64_t expert = 0; expert < routes.experts(); ++expert) {
    const std::int64_t end = routes.first_row(expert) + routes.rows(expert);
    for (std::int64_t begin = routes.first_row(expert); begin < end; begin += planner::kTokenTile) {
      body(ExpertTile{expert, begin, std::min(planner::kTokenTile, end - begin)});
    }
  }
}

float* BlockRun::router_logits(std::int64_t token) const {
  return reinterpret_cast<float*>(record_.at(offsets_.router)) + token * shape_.experts->count;
}

Routes BlockRun::chosen_routes() const {
  Routes routes(job_, space_.routes, workspace_.data, tokens_);
  routes.choose(router_logits(0), scratch(space_.wide));
  return routes;
}

void BlockRun::gather(const Routes& routes, ExpertTile tile, const std::byte* tensor,
                      float* rows) const {
  for (std::int64_t i = 0; i < tile.count; ++i) {
    kernels_.load(row(tensor, routes.token(tile.begin + i), shape_.hidden), shape_.hidden,
                  rows + i * shape_.hidden);
  }
}

void BlockRun::scatter(const Routes& routes, ExpertTile tile, const float* rows) const {
  for (std::int64_t i = 0; i < tile.count; ++i) {
    plain_.add(scratch(space_.routes.mixed) + routes.token(tile.begin + i) * shape_.hidden,
               rows + i * shape_.hidden, shape_.hidden);
  }
}

void BlockRun::normalize_routes(const Routes& routes, ExpertTile tile) {
  gather(routes, tile, record_.at(offsets_.residual), scratch(space_.input));
  kernels_.rms_norm(scratch(space_.input), tile.count, shape_.hidden, norm_weight(slots_.post_norm),
                    eps_, scratch(space_.normed), scratch(space_.rstd));
}

void BlockRun::activate(ExpertTile tile, float* activation) const {
  const std::int64_t width = shape_.experts->intermediate;
  activation_.forward(row(offsets_.gate, tile.begin, width), row(offsets_.up, tile.begin, width),
                      tile.count * width, activation);
}

void BlockRun::weigh(const Routes& routes, ExpertTile tile, float* rows) const {
  const std::int64_t width = shape_.experts->intermediate;
  for (std::int64_t i = 0; i < tile.count; ++i) {
    const float share = routes.share(tile.begin + i);
    for (std::int64_t c = 0; c < width; ++c) rows[i * width + c] *= share;
  }
}

void BlockRun::project_router() {
  for_tiles([&](Tile tile) {
    normalize(offsets_.residual, slots_.post_norm, tile);
    multiply(scratch(space_.normed), tile.count, matrix(slots_.experts.router),
             scratch(space_.panel), router_logits(tile.begin));
  });
}

void BlockRun::number_routes(std::int32_t* begins) const {
  const Routes routes = chosen_routes();
  for (std::int64_t expert = 0; expert <= routes.experts(); ++expert) {
    begins[expert] = static_cast<std::int32_t>(routes.first_row(expert));
  }
}

void BlockRun::apply_experts(std::byte* next_input) {
  const Routes routes = chosen_routes();
  expand_experts(routes);
  contract_experts(routes, next_input);
}

void BlockRun::expand_experts(const Routes& routes) {
  const ExpertSlots& slots = slots_.experts;
  const std::int64_t width = shape_.experts->intermediate;
  for_expert_tiles(routes, [&](ExpertTile tile) {
    normalize_routes(routes, tile);
    const auto one = [&](const Slot& first, Bytes tensor) {
      multiply(scratch(space_.normed), tile.count, matrix(slots.of(first, tile.expert)),
               scratch(space_.panel), scratch(space_.wide));
      kernels_.store(scratch(space_.wide), tile.count * width, row(tensor, tile.begin, width));
    };
    one(slots.gate, offsets_.gate);
    one(slots.up, offsets_.up);
  });
}

// A token's share of an expert multiplies the input of the expert's last product instead of its
// output: the product is linear, and this way the backward pass needs no output.
void BlockRun::contract_experts(const Routes& routes, std::byte* next_input) {
  const ExpertSlots& slots = slots_.experts;
  const std::int64_t width = shape_.experts->intermediate;
  const std::int64_t hidden = shape_.hidden;
  float* mixed = scratch(space_.routes.mixed);
  std::fill_n(mixed, tokens_ * hidden, 0.0f);
  for_expert_tiles(routes, [&](ExpertTile tile) {
    activate(tile, scratch(space_.wide));
    weigh(routes, tile, scratch(space_.wide));
    kernels_.round(scratch(space_.wide), tile.count * width);
    multiply(scratch(space_.wide), tile.count, matrix(slots.of(slots.down, tile.expert)),
             scratch(space_.panel), scratch(space_.normed));
    scatter(routes, tile, scratch(space_.normed));
  });
  kernels_.add_store(mixed, record_.at(offsets_.residual), tokens_ * hidden, next_input);
}

void BlockRun::add_balance(std::byte* next_input) const {
  if (!job_.router_aux_loss_coef) return;
  const Routes routes(job_, space_.routes, workspace_.data, tokens_);
  const auto* before =
      reinterpret_cast<const float*>(record_.at(offsets_.x) + offsets_.counts.count());
  auto* after = reinterpret_cast<float*>(next_input + offsets_.counts.count());
  for (std::int64_t expert = 0; expert < routes.experts(); ++expert) {
    after[expert] = before[expert] + static_cast<float>(routes.rows(expert));
  }
  auto* sums = reinterpret_cast<float*>(next_input + offsets_.probabilities.count());
  std::memcpy(sums, record_.at(offsets_.x) + offsets_.probabilities.count(),
              static_cast<std::size_t>(routes.experts()) * sizeof(float));
  add_probabilities(sums);
}

// Sums over the tokens of a tile first, so that few roundings separate one token from the sum of
// many.
void BlockRun::add_probabilities(float* sums) const {
  const std::int64_t experts = shape_.experts->count;
  float* probability = scratch(space_.wide);
  float* of_tile = scratch(space_.d_wide);
  for_tiles([&](Tile tile) {
    std::fill_n(of_tile, experts, 0.0f);
    for (std::int64_t i = 0; i < tile.count; ++i) {
      std::copy_n(router_logits(tile.begin + i), experts, probability);
      (void)plain_.softmax(probability, experts, 0, experts, 1.0f);
      plain_.add(of_tile, probability, experts);
    }
    plain_.add(sums, of_tile, experts);
  });
}

void BlockRun::experts_backward(float* gradient, std::byte* stream_gradient) {
  Routes routes = chosen_routes();
  std::fill_n(scratch(space_.routes.mixed), tokens_ * shape_.hidden, 0.0f);
  for_expert_tiles(routes, [&](ExpertTile tile) {
    expert_tile_backward(routes, tile, gradient, stream_gradient);
  });
  router_backward(routes, gradient, stream_gradient);
}

void BlockRun::expert_tile_backward(Routes& routes, ExpertTile tile, float* gradient,
                                    const std::byte* stream_gradient) {
  const ExpertSlots& slots = slots_.experts;
  const Slot gate = slots.of(slots.gate, tile.expert);
  const Slot up = slots.of(slots.up, tile.expert);
  const Slot down = slots.of(slots.down, tile.expert);
  const std::int64_t width = shape_.experts->intermediate;
  const std::int64_t hidden = shape_.hidden;
  float* dy = scratch(space_.incoming);
  float* wide = scratch(space_.wide);
  float* d_wide = scratch(space_.d_wide);
  float* normed = scratch(space_.normed);
  float* d_normed = scratch(space_.d_normed);
  float* panel = scratch(space_.panel);
  gather(routes, tile, stream_gradient, dy);
  activate(tile, wide);
  multiply_transposed(dy, tile.count, matrix(down), panel, Into::overwrite, d_wide);
  const auto dot = elementwise(planner::ComputeType::fp32).dot;
  for (std::int64_t i = 0; i < tile.count; ++i) {
    routes.set_share_gradient(tile.begin + i, dot(d_wide + i * width, wide + i * width, width));
  }
  weigh(routes, tile, wide);
  kernels_.round(wide, tile.count * width);
  accumulate_outer(dy, wide, tile.count, hidden, width, gradient + down.offset);
  weigh(routes, tile, d_wide);
  activation_.backward(row(offsets_.gate, tile.begin, width), row(offsets_.up, tile.begin, width),
                       tile.count * width, wide, d_wide);
  normalize_routes(routes, tile);
  accumulate_outer(wide, normed, tile.count, width, hidden, gradient + gate.offset);
  accumulate_outer(d_wide, normed, tile.count, width, hidden, gradient + up.offset);
  multiply_transposed(wide, tile.count, matrix(gate), panel, Into::overwrite, d_normed);
  multiply_transposed(d_wide, tile.count, matrix(up), panel, Into::accumulate, d_normed);
  scatter(routes, tile, d_normed);
}

// d logit = p (dp - sum of dp p). The balancing loss of a micro-batch is experts * sum over experts
// of F P, where F is an expert's routes and P the mean of its p, both over all tokens and blocks;
// F is a constant: dp += coefficient * experts * F / (tokens * blocks)^2 / micro-batches.
void BlockRun::router_backward(const Routes& routes, float* gradient, std::byte* stream_gradient) {
  const Slot& router = slots_.experts.router;
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
      std::copy_n(router_logits(token), experts, probability);
      (void)plain_.softmax(probability, experts, 0, experts, 1.0f);
      routes.probability_gradient(token, probability, d);
      if (balance != 0) {
        for (std::int64_t e = 0; e < experts; ++e) d[e] += balance * counts[e];
      }
      plain_.softmax_backward(probability, experts, dot(d, probability, experts), 1.0f, d);
    }
    kernels_.round(d_logits, tile.count * experts);
    const float* residual = normalize(offsets_.residual, slots_.post_norm, tile);
    float* d_normed = scratch(space_.routes.mixed) + tile.begin * hidden;
    accumulate_outer(d_logits, scratch(space_.normed), tile.count, experts, hidden,
                     gradient + router.offset);
    multiply_transposed(d_logits, tile.count, matrix(router), scratch(space_.panel),
                        Into::accumulate, d_normed);
    std::byte* stream = row(stream_gradient, tile.begin, hidden);
    const float* dy = values(stream, tile.count * hidden, scratch(space_.incoming));
    kernels_.rms_norm_backward(d_normed, residual, tile.count, hidden,
                               norm_weight(slots_.post_norm), scratch(space_.rstd), dy,
                               gradient + slots_.post_norm.offset, stream);
  });
}

}  // namespace sluice::engine
