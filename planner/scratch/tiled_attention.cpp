#include "planner/scratch/tiled_attention.hpp"

#include <algorithm>

namespace sluice::planner {
namespace {

constexpr std::int64_t kScoreTile = 128;
/// Queries of a block that is not cut further while there are sequences or groups to cut.
constexpr std::int64_t kFewQueries = 1024;
constexpr std::int64_t kMostScoreBytes = std::int64_t{1} << 29;
/// Bytes of one score in all arrays of the backward pass.
constexpr std::int64_t kScoreBytes = 12;

constexpr std::int64_t whole(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

std::int64_t score_row(const AttentionShape& shape, std::int64_t queries) {
  const std::int64_t length = whole(shape.length, kScoreTile);
  if (!shape.window) return length;
  return std::min(length, queries + whole(*shape.window, kScoreTile));
}

std::int64_t scores_of(const AttentionShape& shape, const TiledAttentionPart& part) {
  const std::int64_t heads = part.sequences * part.kv_heads * (shape.heads / shape.kv_heads);
  return heads * part.queries * score_row(shape, part.queries);
}

}  // namespace

std::int64_t next_divisor(std::int64_t all, std::int64_t value) {
  do {
    --value;
  } while (all % value != 0);
  return value;
}

TiledAttentionPart tiled_attention_part(const AttentionShape& shape) {
  TiledAttentionPart part{shape.sequences, shape.kv_heads, whole(shape.length, kScoreTile)};
  while (kScoreBytes * scores_of(shape, part) > kMostScoreBytes) {
    if (part.queries > kFewQueries) {
      part.queries = std::max(kFewQueries, whole(part.queries / 2, kScoreTile));
    } else if (part.sequences > 1) {
      part.sequences = next_divisor(shape.sequences, part.sequences);
    } else if (part.kv_heads > 1) {
      part.kv_heads = next_divisor(shape.kv_heads, part.kv_heads);
    } else if (part.queries > kScoreTile) {
      part.queries = whole(part.queries / 2, kScoreTile);
    } else {
      break;
    }
  }
  return part;
}

std::vector<AttentionBlock> tiled_attention_blocks(const AttentionShape& shape) {
  const std::int64_t step = tiled_attention_part(shape).queries;
  std::vector<AttentionBlock> blocks;
  for (std::int64_t first = 0; first < shape.length; first += step) {
    const std::int64_t end = std::min(shape.length, first + step);
    std::int64_t first_key = 0;
    if (shape.window) {
      first_key = std::max<std::int64_t>(0, first - *shape.window + 1) / kScoreTile * kScoreTile;
    }
    blocks.push_back({.first_query = first,
                      .queries = end - first,
                      .first_key = first_key,
                      .keys = end - first_key});
  }
  return blocks;
}

std::int64_t tiled_score_row(const AttentionShape& shape) {
  return score_row(shape, tiled_attention_part(shape).queries);
}

TiledAttentionSpace tiled_attention_space(const AttentionShape& shape) {
  const TiledAttentionPart part = tiled_attention_part(shape);
  const std::int64_t scores = scores_of(shape, part);
  const std::int64_t keys = part.sequences * part.kv_heads * shape.length * shape.head_dim;
  Bytes next{0};
  const auto take = [&](std::int64_t bytes) {
    const Bytes start = next;
    next += Bytes(whole(bytes, 256));
    return start;
  };
  TiledAttentionSpace space{};
  space.scores = take(4 * scores);
  space.weights = take(2 * scores);
  space.forward_end = next;
  space.d_scores = take(4 * scores);
  space.d_products = take(2 * scores);
  space.d_keys = take(4 * keys);
  space.d_values = take(4 * keys);
  space.total = next;
  return space;
}

Bytes attention_scratch(const AttentionShape& shape) {
  return computed_in_tiles(shape) ? tiled_attention_space(shape).total
                                  : attention_workspace_bound(shape);
}

}  // namespace sluice::planner
