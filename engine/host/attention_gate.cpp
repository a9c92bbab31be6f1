// A gate on attention's output: the sigmoid of a projection of attention's input multiplies it,
// element by element, on its way into the o projection. The record has both without the product.
#include <algorithm>

#include "engine/host/block_run.hpp"

namespace sluice::engine {

float* BlockRun::gate_shares(Tile tile) const {
  const std::int64_t n = tile.count * query_width_;
  float* shares = scratch(space_.wide);
  kernels_.load(row(offsets_.attention_gate, tile.begin, query_width_), n, shares);
  plain_.logistic(shares, n, shares);
  return shares;
}

const float* BlockRun::gated_attention(Tile tile) {
  if (slots_.delta.exist()) return normed_mix(tile);
  const std::int64_t n = tile.count * query_width_;
  float* attention = scratch(space_.input);
  const std::byte* stored = row(offsets_.attention, tile.begin, query_width_);
  if (!slots_.attention_gate.weight.exists()) return values(stored, n, attention);
  kernels_.load(stored, n, attention);
  const float* shares = gate_shares(tile);
  for (std::int64_t i = 0; i < n; ++i) attention[i] *= shares[i];
  kernels_.round(attention, n);
  return attention;
}

// y = a s, s = sigmoid(g):  da = dy s, dg = dy a s (1 - s).
void BlockRun::attention_gate_backward(Tile tile, float* gradient) {
  if (slots_.delta.exist()) return normed_mix_backward(tile, gradient);
  if (!slots_.attention_gate.weight.exists()) return;
  const std::int64_t n = tile.count * query_width_;
  float* d = scratch(space_.d_query) + tile.begin * query_width_;
  float* d_gate = scratch(space_.d_attention_gate) + tile.begin * query_width_;
  const float* shares = gate_shares(tile);
  kernels_.load(row(offsets_.attention, tile.begin, query_width_), n, d_gate);
  for (std::int64_t i = 0; i < n; ++i) {
    d_gate[i] *= d[i] * (shares[i] * (1.0f - shares[i]));
    d[i] *= shares[i];
  }
  kernels_.round(d_gate, n);
}

}  // namespace sluice::engine
