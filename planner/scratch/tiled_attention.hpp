// Attention of shapes that the library's fused kernels do not take, as products of tiles of scores
// that lie in memory: its parts and its scratch (docs/design/attention.md).
#pragma once

#include <cstdint>
#include <vector>

#include "planner/scratch/attention_shape.hpp"

namespace sluice::planner {

/// Largest number of elements of a head that the library's backward pass is used for.
inline constexpr std::int64_t kMostFusedHead = 128;

/// Whether attention of this shape is computed tile by tile: wide heads, and scores with a bound.
[[nodiscard]] constexpr bool computed_in_tiles(const AttentionShape& shape) {
  return shape.head_dim > kMostFusedHead || shape.softcap.has_value();
}

/// The largest divisor of `all` below `value`, which is at least 2.
[[nodiscard]] std::int64_t next_divisor(std::int64_t all, std::int64_t value);

/// What one run of tiled attention covers.
struct TiledAttentionPart {
  std::int64_t sequences = 0;
  std::int64_t kv_heads = 0;  ///< Groups of heads.
  std::int64_t queries = 0;   ///< Queries of a block, a multiple of 128.
};

/// The part of `shape` of a run, whose scores take at most 512 MiB where a block of 128 queries of
/// one group of heads does. A function of the shape alone.
[[nodiscard]] TiledAttentionPart tiled_attention_part(const AttentionShape& shape);
/// Blocks of queries of a run, in the order in which they run, each with the keys that it sees.
[[nodiscard]] std::vector<AttentionBlock> tiled_attention_blocks(const AttentionShape& shape);
/// Elements of a row of scores: the keys of the longest block, rounded up to whole tiles.
[[nodiscard]] std::int64_t tiled_score_row(const AttentionShape& shape);

/// Offsets of a run's scratch.
struct TiledAttentionSpace {
  Bytes scores;       ///< Offset of fp32 [sequences, heads, queries, score row].
  Bytes weights;      ///< Offset of bf16 of the same sizes: softmax.
  Bytes forward_end;  ///< Bytes that the forward pass needs.
  Bytes d_scores;     ///< Offset of fp32 of the same sizes: gradients of the softmax's results.
  Bytes d_products;   ///< Offset of bf16 of the same sizes: gradients of products of q and k.
  Bytes d_keys;       ///< Offset of fp32 [sequences, kv_heads, length, head_dim].
  Bytes d_values;     ///< Offset of fp32 of the same sizes.
  Bytes total;        ///< Bytes that the backward pass needs.
};
[[nodiscard]] TiledAttentionSpace tiled_attention_space(const AttentionShape& shape);

/// Upper bound of the scratch of both passes of attention of this shape, in tiles or by the
/// library.
[[nodiscard]] Bytes attention_scratch(const AttentionShape& shape);

}  // namespace sluice::planner
