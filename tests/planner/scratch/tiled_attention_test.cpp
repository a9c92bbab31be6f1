// Which attention is computed tile by tile, and how its runs are cut.
#include "planner/scratch/tiled_attention.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "sim/units.hpp"

namespace sluice::planner {
namespace {

/// One sequence of a model with heads of 256, four queries' heads to one of keys.
AttentionShape wide_shape(std::int64_t length) {
  return {.sequences = 2,
          .length = length,
          .heads = 8,
          .kv_heads = 2,
          .head_dim = 256,
          .qkv_row = 12 * 256,
          .out_row = 8 * 256};
}

TEST(TiledAttention, IsOfWideHeadsAndOfBoundedScores) {
  AttentionShape shape = wide_shape(512);
  EXPECT_TRUE(computed_in_tiles(shape));
  EXPECT_EQ(attention_scratch(shape), tiled_attention_space(shape).total);
  shape.head_dim = 128;
  EXPECT_FALSE(computed_in_tiles(shape));
  EXPECT_EQ(attention_scratch(shape), attention_workspace_bound(shape));
  shape.softcap = 50;
  EXPECT_TRUE(computed_in_tiles(shape));
}

TEST(TiledAttention, HoldsEveryScoreOfAShortSequenceAtOnce) {
  const AttentionShape shape = wide_shape(500);
  const TiledAttentionPart part = tiled_attention_part(shape);
  EXPECT_EQ(part.sequences, 2);
  EXPECT_EQ(part.kv_heads, 2);
  EXPECT_EQ(part.queries, 512);
  EXPECT_EQ(tiled_attention_blocks(shape).size(), 1u);
  // 16 heads of 512 x 512 scores, of 12 bytes each, and fp32 sums for keys and values.
  EXPECT_EQ(tiled_attention_space(shape).total,
            Bytes(12 * 16 * 512 * 512 + 2 * 4 * 2 * 2 * 500 * 256));
}

TEST(TiledAttention, CutsQueriesThenSequencesThenGroups) {
  for (const auto window : {std::optional<std::int64_t>(), std::optional<std::int64_t>(700)}) {
    for (const std::int64_t length : {4000, 16000, 60000}) {
      AttentionShape shape = wide_shape(length);
      shape.window = window;
      const TiledAttentionPart part = tiled_attention_part(shape);
      const TiledAttentionSpace space = tiled_attention_space(shape);
      EXPECT_LE(space.d_keys, 512_MiB) << length;
      EXPECT_TRUE(part.queries >= 1024 || (part.sequences == 1 && part.kv_heads == 1)) << length;
      std::int64_t next = 0;
      for (const AttentionBlock& block : tiled_attention_blocks(shape)) {
        EXPECT_EQ(block.first_query, next);
        EXPECT_EQ(block.first_key + block.keys, block.first_query + block.queries);
        EXPECT_LE(block.first_key, std::max<std::int64_t>(0, next + 1 - window.value_or(length)));
        EXPECT_LE(block.keys, tiled_score_row(shape));
        next += block.queries;
      }
      EXPECT_EQ(next, length);
    }
  }
}

}  // namespace
}  // namespace sluice::planner
