// The expert that every token passes through beside those that its router chooses. Its rows of gate
// and up lie in the record behind those of all routes.
#include <array>

#include "engine/host/block_run.hpp"

namespace sluice::engine {

BlockRun::Expanded BlockRun::shared_rows(Tile tile) const {
  const planner::Experts& experts = *shape_.experts;
  const std::int64_t before =
      tokens_ * experts.active * experts.intermediate + tile.begin * experts.shared_intermediate;
  return {row(offsets_.gate, before, 1), row(offsets_.up, before, 1)};
}

// share = sigmoid(n w), where n is the token's normed residual stream and w the switch's one row.
// It multiplies the input of the last product, as the shares of routes do.
void BlockRun::switch_shares(Tile tile, float* shares) {
  if (!slots_.shared_switch.exists()) {
    std::fill_n(shares, tile.count, 1.0f);
    return;
  }
  multiply(scratch(space_.normed), tile.count, matrix(slots_.shared_switch), scratch(space_.panel),
           shares);
  plain_.logistic(shares, tile.count, shares);
}

void BlockRun::weigh_shared(const float* shares, Tile tile, float* rows) const {
  if (!slots_.shared_switch.exists()) return;
  const std::int64_t width = shape_.experts->shared_intermediate;
  for (std::int64_t i = 0; i < tile.count; ++i) plain_.scale(rows + i * width, width, shares[i]);
  kernels_.round(rows, tile.count * width);
}

void BlockRun::expand_shared() {
  if (shape_.experts->shared_intermediate == 0) return;
  const std::int64_t width = shape_.experts->shared_intermediate;
  for_tiles([&](Tile tile) {
    const auto [gate, up] = shared_rows(tile);
    normalize(offsets_.residual, slots_.norm_before_mlp, tile);
    const auto one = [&](const Projection& projection, std::byte* to) {
      project(projection, scratch(space_.normed), tile.count, scratch(space_.wide));
      kernels_.store(scratch(space_.wide), tile.count * width, to);
    };
    one(slots_.gate, gate);
    one(slots_.up, up);
  });
}

void BlockRun::contract_shared() {
  if (shape_.experts->shared_intermediate == 0) return;
  const std::int64_t width = shape_.experts->shared_intermediate;
  std::array<float, planner::kTokenTile> shares;
  for_tiles([&](Tile tile) {
    const auto [gate, up] = shared_rows(tile);
    normalize(offsets_.residual, slots_.norm_before_mlp, tile);
    switch_shares(tile, shares.data());
    activation_.forward(gate, up, tile.count * width, scratch(space_.wide));
    weigh_shared(shares.data(), tile, scratch(space_.wide));
    project(slots_.down, scratch(space_.wide), tile.count, scratch(space_.normed));
    plain_.add(scratch(space_.routes.mixed) + tile.begin * shape_.hidden, scratch(space_.normed),
               tile.count * shape_.hidden);
  });
}

void BlockRun::shared_backward(float* gradient, const std::byte* stream_gradient) {
  if (shape_.experts->shared_intermediate == 0) return;
  const std::int64_t width = shape_.experts->shared_intermediate;
  const std::int64_t hidden = shape_.hidden;
  float* wide = scratch(space_.wide);
  float* d_wide = scratch(space_.d_wide);
  float* dy = scratch(space_.incoming);
  float* panel = scratch(space_.panel);
  const float* normed = scratch(space_.normed);
  std::array<float, planner::kTokenTile> shares;
  std::array<float, planner::kTokenTile> d_shares;
  const auto dot = elementwise(planner::ComputeType::fp32).dot;
  for_tiles([&](Tile tile) {
    const auto [gate, up] = shared_rows(tile);
    float* d_normed = scratch(space_.routes.mixed) + tile.begin * hidden;
    kernels_.load(row(stream_gradient, tile.begin, hidden), tile.count * hidden, dy);
    scale_branch(dy, tile.count);
    normalize(offsets_.residual, slots_.norm_before_mlp, tile);
    switch_shares(tile, shares.data());
    activation_.forward(gate, up, tile.count * width, wide);
    multiply_transposed(dy, tile.count, matrix(slots_.down.weight), panel, Into::overwrite, d_wide);
    for (std::int64_t i = 0; i < tile.count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      d_shares[at] =
          dot(d_wide + i * width, wide + i * width, width) * shares[at] * (1.0f - shares[at]);
    }
    weigh_shared(shares.data(), tile, wide);
    project_backward(slots_.down, dy, wide, tile.count, gradient);
    if (slots_.shared_switch.exists()) {
      for (std::int64_t i = 0; i < tile.count; ++i) {
        plain_.scale(d_wide + i * width, width, shares[static_cast<std::size_t>(i)]);
      }
      kernels_.round(d_shares.data(), tile.count);
      project_backward({slots_.shared_switch, {}}, d_shares.data(), normed, tile.count, gradient);
      multiply_transposed(d_shares.data(), tile.count, matrix(slots_.shared_switch), panel,
                          Into::accumulate, d_normed);
    }
    activation_.backward(gate, up, tile.count * width, wide, d_wide);
    project_backward(slots_.gate, wide, normed, tile.count, gradient);
    project_backward(slots_.up, d_wide, normed, tile.count, gradient);
    multiply_transposed(wide, tile.count, matrix(slots_.gate.weight), panel, Into::accumulate,
                        d_normed);
    multiply_transposed(d_wide, tile.count, matrix(slots_.up.weight), panel, Into::accumulate,
                        d_normed);
  });
}

}  // namespace sluice::engine
