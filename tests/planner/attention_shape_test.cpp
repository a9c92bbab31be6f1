// Scratch memory of attention by arithmetic alone: runs anywhere.
#include "planner/attention_shape.hpp"

#include <gtest/gtest.h>

#include "sim/error.hpp"

namespace sluice::planner {
namespace {

constexpr std::int64_t kHeadDim = 128;

AttentionShape qwen_shape(std::int64_t sequences, std::int64_t length) {
  return {.sequences = sequences,
          .length = length,
          .heads = 28,
          .kv_heads = 4,
          .head_dim = kHeadDim,
          .qkv_row = 36 * kHeadDim,
          .out_row = 28 * kHeadDim};
}

TEST(AttentionWorkspace, FixedOrderHoldsTheScoresGradientInTwoBytes) {
  // 16 sequences of 28 heads of 1024 x 1024 scores.
  const Bytes scores(std::int64_t{2} * 16 * 28 * 1024 * 1024);
  const Bytes bound =
      attention_backward_workspace_bound(qwen_shape(16, 1024), GradientOrder::fixed);
  EXPECT_GE(bound, scores);
  EXPECT_LE(bound / scores, 1.3);
}

TEST(AttentionWorkspace, AnyOrderGrowsWithLengthAlone) {
  const Bytes once = attention_backward_workspace_bound(qwen_shape(1, 4096), GradientOrder::any);
  const Bytes twice = attention_backward_workspace_bound(qwen_shape(1, 8192), GradientOrder::any);
  EXPECT_NEAR(twice / once, 2.0, 0.01);
}

TEST(AttentionWorkspace, PartsAreWholeSequencesWhileTheyFit) {
  const AttentionShape shape = qwen_shape(6, 1024);
  const auto bound = [](const AttentionShape& part) {
    return attention_backward_workspace_bound(part, GradientOrder::fixed);
  };
  EXPECT_EQ(attention_backward_part(shape, GradientOrder::fixed, bound(shape)).sequences, 6);
  const Bytes less = bound(shape) - Bytes(1);
  EXPECT_EQ(attention_backward_part(shape, GradientOrder::fixed, less).sequences, 3);
  const Bytes one = bound(qwen_shape(1, 1024)) - Bytes(1);
  const AttentionShape groups = attention_backward_part(shape, GradientOrder::fixed, one);
  EXPECT_EQ(groups.sequences, 1);
  EXPECT_EQ(groups.kv_heads, 2);
  EXPECT_EQ(groups.heads, 14);
  EXPECT_EQ(groups.qkv_row, shape.qkv_row);
}

TEST(AttentionWorkspace, RefusesALimitBelowOneGroupOfHeads) {
  EXPECT_THROW((void)attention_backward_part(qwen_shape(1, 8192), GradientOrder::fixed,
                                             Bytes(std::int64_t{1} << 20)),
               BadRequest);
}

}  // namespace
}  // namespace sluice::planner
