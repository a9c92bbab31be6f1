// Sizes of a gated delta net, the linear attention of hybrid models
// (docs/design/gated-delta-net.md).
#pragma once

#include <cstdint>

namespace sluice::planner {

/// Tokens of a chunk of the rule; part of the numerics, because it sets the order of sums.
inline constexpr std::int64_t kDeltaChunk = 64;
/// Tokens that an output of the convolution before the rule sees.
inline constexpr std::int64_t kDeltaTaps = 4;

/// Sizes of a layer's heads, in elements. value_heads is a multiple of key_heads; value head h
/// reads key head h / (value_heads / key_heads).
struct DeltaNet {
  std::int64_t key_heads = 0, value_heads = 0, key_dim = 0, value_dim = 0;
  /// Elements of a token's queries; its keys have as many.
  [[nodiscard]] constexpr std::int64_t keys() const { return key_heads * key_dim; }
  /// Elements of a token's values, and of its output.
  [[nodiscard]] constexpr std::int64_t values() const { return value_heads * value_dim; }
  /// Elements of a token's q, k and v, one behind the other.
  [[nodiscard]] constexpr std::int64_t channels() const { return 2 * keys() + values(); }
  /// Elements of the state of all heads.
  [[nodiscard]] constexpr std::int64_t state() const { return values() * key_dim; }
  friend bool operator==(const DeltaNet&, const DeltaNet&) = default;
};

/// Multiplications and additions of one token in the rule's forward pass: products of the tokens
/// of a chunk, the triangular system, and products with the state.
[[nodiscard]] constexpr double delta_rule_flops(const DeltaNet& net) {
  const auto chunk = static_cast<double>(kDeltaChunk);
  const auto key = static_cast<double>(net.key_dim), value = static_cast<double>(net.value_dim);
  return static_cast<double>(net.value_heads) *
         (4 * chunk * key + 3 * chunk * value + 6 * key * value);
}

}  // namespace sluice::planner
