// Sizes of latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1): queries, keys and values
// that are made of narrow projections of a token.
#pragma once

#include <cstdint>
#include <optional>

namespace sluice::planner {

/// Sizes in elements. A head of q and k has `plain` elements that do not turn and `rotated` that
/// do, ModelShape::head_dim together; those of k that turn are the same for all heads.
struct LatentAttention {
  /// Width of the projection of which queries are made; none where they are made of the token.
  std::optional<std::int64_t> query_rank{};
  std::int64_t rank = 0;  ///< Width of the projection of which keys and values are made.
  /// In memory a head of q begins with those that turn, in a checkpoint they end it.
  std::int64_t plain = 0, rotated = 0;
  std::int64_t value = 0;  ///< Elements of a head of v, and of its output.
  /// Added to the mean square in norms of narrow projections, whatever other norms add.
  double norm_eps = 1e-6;
  friend bool operator==(const LatentAttention&, const LatentAttention&) = default;
};

}  // namespace sluice::planner
