// A block's feed-forward half as a mixture of experts: each token passes through a few networks
// chosen by a router; networks are computed one after another, each over the rows of its tokens.
#include <algorithm>
#include <cstring>

#include "engine/host/block_run.hpp"

namespace sluice::engine {

float* BlockRun::router_logits(std::int64_t token) const {
  return reinterpret_cast<float*>(record_.at(offsets_.router)) + token * shape_.experts->count;
}

Routes BlockRun::chosen_routes() const {
  Routes routes(job_, space_.routes, workspace_.data, tokens_);
  const Slot& bias = slots_.experts.correction_bias;
  if (!bias.exists()) {
    routes.choose(router_logits(0), nullptr, scratch(space_.wide));
    return routes;
  }
  const WeightMatrix correction = matrix(bias);
  float* values = scratch(space_.d_wide);
  plain_.join(correction.high, correction.low, bias.size(), values);
  routes.choose(router_logits(0), values, scratch(space_.wide));
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
  kernels_.rms_norm(scratch(space_.input), tile.count, shape_.hidden,
                    norm_weight(slots_.norm_before_mlp), eps_, scratch(space_.normed),
                    scratch(space_.rstd));
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

// A bias of the last product is added once for each route, with the route's share.
void BlockRun::add_weighed_bias(const Routes& routes, ExpertTile tile, const Slot& bias,
                                float* rows) {
  if (!bias.exists()) return;
  const float* values = vector(bias);
  for (std::int64_t i = 0; i < tile.count; ++i) {
    const float share = routes.share(tile.begin + i);
    float* row = rows + i * shape_.hidden;
    for (std::int64_t c = 0; c < shape_.hidden; ++c) row[c] += share * values[c];
  }
}

void BlockRun::project_router() {
  for_tiles([&](Tile tile) {
    normalize(offsets_.residual, slots_.norm_before_mlp, tile);
    project(slots_.experts.router, scratch(space_.normed), tile.count, router_logits(tile.begin));
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
    const auto one = [&](const Projection& first, Bytes tensor) {
      project(slots.of(first, tile.expert), scratch(space_.normed), tile.count,
              scratch(space_.wide));
      kernels_.store(scratch(space_.wide), tile.count * width, row(tensor, tile.begin, width));
    };
    one(slots.gate, offsets_.gate);
    one(slots.up, offsets_.up);
  });
  expand_shared();
}

// A token's share of an expert multiplies the input of the expert's last product instead of its
// output: the product is linear, and this way the backward pass needs no output.
void BlockRun::contract_experts(const Routes& routes, std::byte* next_input) {
  const std::int64_t width = shape_.experts->intermediate;
  const std::int64_t hidden = shape_.hidden;
  float* mixed = scratch(space_.routes.mixed);
  std::fill_n(mixed, tokens_ * hidden, 0.0f);
  for_expert_tiles(routes, [&](ExpertTile tile) {
    activate(tile, scratch(space_.wide));
    weigh(routes, tile, scratch(space_.wide));
    kernels_.round(scratch(space_.wide), tile.count * width);
    const Projection down = slots_.experts.of(slots_.experts.down, tile.expert);
    multiply(scratch(space_.wide), tile.count, matrix(down.weight), scratch(space_.panel),
             scratch(space_.normed));
    add_weighed_bias(routes, tile, down.bias, scratch(space_.normed));
    scatter(routes, tile, scratch(space_.normed));
  });
  contract_shared();
  for_tiles([&](Tile tile) {
    join(mlp_branch(), tile, mixed + tile.begin * hidden, scratch(space_.normed), offsets_.residual,
         next_input);
  });
}

void BlockRun::add_balance(std::byte* next_input) const {
  if (!job_.router_aux_loss_coef) return;
  const auto experts = static_cast<std::size_t>(job_.model.experts->count);
  if (!shape_.experts) {
    std::memcpy(next_input + offsets_.counts.count(),
                record_.at(offsets_.x) + offsets_.counts.count(), 2 * experts * sizeof(float));
    return;
  }
  const Routes routes(job_, space_.routes, workspace_.data, tokens_);
  const auto* before =
      reinterpret_cast<const float*>(record_.at(offsets_.x) + offsets_.counts.count());
  auto* after = reinterpret_cast<float*>(next_input + offsets_.counts.count());
  for (std::int64_t expert = 0; expert < routes.experts(); ++expert) {
    after[expert] = before[expert] + static_cast<float>(routes.rows(expert));
  }
  auto* sums = reinterpret_cast<float*>(next_input + offsets_.probabilities.count());
  std::memcpy(sums, record_.at(offsets_.x) + offsets_.probabilities.count(),
              experts * sizeof(float));
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

}  // namespace sluice::engine
