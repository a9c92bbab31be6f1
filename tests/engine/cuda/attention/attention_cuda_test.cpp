// cuDNN's attention against a double-precision reference, with error bounds derived from its
// roundings to bf16, and its bits from run to run. Needs a CUDA device.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <optional>

#include "engine/cuda/attention/attention.hpp"
#include "engine/optimizer/master_weights.hpp"
#include "planner/scratch/tiled_attention.hpp"
#include "tests/engine/cuda/attention/attention_run.hpp"

namespace sluice::engine {
namespace {

TEST_P(CudaAttentionTest, AgreesWithDoublePrecisionAndRepeatsItsBits) {
  const AttentionShape shape = GetParam();
  const AttentionInputs inputs(shape);
  const CudaAttention attention(*cudnn_, shape);
  std::printf("  %s\n", attention.engines().c_str());
  const AttentionResults results = run(attention, shape, inputs);
  expect_agreement(results, shape, inputs);
  expect_untouched(results.out, shape.out_row, shape.heads * shape.head_dim);
  expect_untouched(results.d_qkv, shape.qkv_row,
                   (shape.heads + 2 * shape.kv_heads) * shape.head_dim);
  EXPECT_TRUE(run(attention, shape, inputs) == results) << "a second run differs";
  EXPECT_TRUE(run(CudaAttention(*cudnn_, shape), shape, inputs) == results)
      << "a second plan differs";
}

TEST_P(CudaAttentionTest, WorkspaceStaysWithinItsBound) {
  const AttentionShape shape = GetParam();
  for (const GradientOrder order : {GradientOrder::fixed, GradientOrder::any}) {
    const CudaAttention attention(*cudnn_, shape, {.order = order});
    std::printf("  forward %lld bytes, backward %lld, bound %lld\n",
                static_cast<long long>(attention.forward_workspace().count()),
                static_cast<long long>(attention.backward_workspace().count()),
                static_cast<long long>(planner::attention_workspace_bound(shape, order).count()));
    EXPECT_LE(attention.forward_workspace(), planner::attention_forward_workspace_bound(shape));
    EXPECT_LE(attention.backward_workspace(),
              planner::attention_backward_workspace_bound(shape, order));
    EXPECT_LE(attention.forward_workspace(), planner::attention_workspace_bound(shape, order));
    EXPECT_LE(attention.backward_workspace(), planner::attention_workspace_bound(shape, order));
  }
}

/// Scratch of one run over `heads` heads of one sequence that share `kv_heads`.
Bytes run_bound(AttentionShape shape, std::int64_t heads, std::int64_t kv_heads,
                std::optional<std::int64_t> queries = std::nullopt) {
  shape.sequences = 1;
  shape.heads = heads;
  shape.kv_heads = kv_heads;
  shape.queries = queries;
  return planner::attention_backward_run_bound(shape, GradientOrder::fixed);
}

TEST_P(CudaAttentionTest, WholeGroupsOfHeadsGiveTheBitsOfTheWhole) {
  const AttentionShape shape = GetParam();
  const AttentionInputs inputs(shape);
  const Bytes limit = run_bound(shape, shape.heads / shape.kv_heads, 1);
  const CudaAttention parts(*cudnn_, shape, {.limits = {.run = limit}});
  EXPECT_LE(parts.backward_workspace(), planner::attention_backward_workspace_bound(
                                            shape, GradientOrder::fixed, {.run = limit}));
  EXPECT_TRUE(run(parts, shape, inputs) == run(CudaAttention(*cudnn_, shape), shape, inputs));
}

/// Expects that the backward pass, in runs of at most `limit`, is exact, repeats its bits and stays
/// in its workspace, and that the forward pass does not change.
void expect_parts_agree(const Cudnn& cudnn, const AttentionShape& shape, Bytes limit) {
  const AttentionInputs inputs(shape);
  const CudaAttention parts(cudnn, shape, {.limits = {.run = limit}});
  std::printf("  %s\n", parts.engines().c_str());
  EXPECT_LE(parts.backward_workspace(), planner::attention_backward_workspace_bound(
                                            shape, GradientOrder::fixed, {.run = limit}));
  const AttentionResults results = run(parts, shape, inputs);
  expect_agreement(results, shape, inputs);
  expect_untouched(results.d_qkv, shape.qkv_row,
                   (shape.heads + 2 * shape.kv_heads) * shape.head_dim);
  EXPECT_TRUE(run(parts, shape, inputs) == results) << "a second run differs";
  EXPECT_TRUE(run(CudaAttention(cudnn, shape, {.limits = {.run = limit}}), shape, inputs) ==
              results)
      << "a second plan differs";
  const CudaAttention in_turn(cudnn, shape, {.limits = {.run = limit, .in_flight = 1}});
  EXPECT_TRUE(run(in_turn, shape, inputs) == results) << "runs one after another differ";
  EXPECT_TRUE(run(CudaAttention(cudnn, shape), shape, inputs).out == results.out);
}

TEST_P(CudaAttentionTest, HeadsOfOneGroupAddUpTheirGradientsOfKeys) {
  const AttentionShape shape = GetParam();
  if (shape.heads == shape.kv_heads) GTEST_SKIP() << "one head is a whole group";
  expect_parts_agree(*cudnn_, shape, run_bound(shape, 1, 1));
}

TEST_P(CudaAttentionTest, BlocksOfQueriesAddUpTheirGradientsOfKeys) {
  const AttentionShape shape = GetParam();
  if (shape.length <= 128) GTEST_SKIP() << "one block is all queries";
  const Bytes limit = run_bound(shape, 1, 1, 128);
  ASSERT_GT(planner::attention_blocks(
                shape, planner::attention_backward_part(shape, GradientOrder::fixed, limit))
                .size(),
            1);
  expect_parts_agree(*cudnn_, shape, limit);
}

// A bound far above all scores changes none.
TEST_P(CudaAttentionTest, TilesOfScoresAgreeWithDoublePrecisionAndRepeatTheirBits) {
  AttentionShape shape = GetParam();
  shape.softcap = 1e4;
  ASSERT_TRUE(planner::computed_in_tiles(shape));
  const AttentionInputs inputs(shape);
  const CudaAttention attention(*cudnn_, shape);
  const AttentionResults results = run(attention, shape, inputs);
  expect_agreement(results, shape, inputs);
  expect_untouched(results.out, shape.out_row, shape.heads * shape.head_dim);
  expect_untouched(results.d_qkv, shape.qkv_row,
                   (shape.heads + 2 * shape.kv_heads) * shape.head_dim);
  EXPECT_TRUE(run(attention, shape, inputs) == results) << "a second run differs";
}

INSTANTIATE_TEST_SUITE_P(Shapes, CudaAttentionTest, testing::ValuesIn(attention_shapes()),
                         attention_shape_name);

class TilesOfScores : public CudaAttentionTest {};

// Blocks of queries and runs of groups; cuDNN's kernels give what is expected.
TEST_P(TilesOfScores, OfManyBlocksAgreesWithTheLibrary) {
  const AttentionShape shape = GetParam();
  AttentionShape tiled = shape;
  tiled.softcap = 1e4;
  EXPECT_GT(planner::tiled_attention_blocks(tiled).size(), 1u);
  const AttentionInputs inputs(shape);
  const AttentionResults expected = run(CudaAttention(*cudnn_, shape), shape, inputs);
  const AttentionResults results = run(CudaAttention(*cudnn_, tiled), tiled, inputs);
  const auto error = [](const std::vector<Bf16>& a, const std::vector<Bf16>& b) {
    double difference = 0, size = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double x = bf16_to_float(a[i]), y = bf16_to_float(b[i]);
      difference += (x - y) * (x - y);
      size += y * y;
    }
    return std::sqrt(difference / size);
  };
  EXPECT_LT(error(results.out, expected.out), 0.01);
  EXPECT_LT(error(results.d_qkv, expected.d_qkv), 0.01);
}

INSTANTIATE_TEST_SUITE_P(Shapes, TilesOfScores,
                         testing::Values(AttentionShape{.sequences = 2,
                                                        .length = 4000,
                                                        .heads = 8,
                                                        .kv_heads = 2,
                                                        .head_dim = 64,
                                                        .qkv_row = 768,
                                                        .out_row = 512},
                                         AttentionShape{.sequences = 1,
                                                        .length = 6000,
                                                        .heads = 8,
                                                        .kv_heads = 8,
                                                        .head_dim = 128,
                                                        .qkv_row = 3072,
                                                        .out_row = 1024,
                                                        .window = 1000}),
                         attention_shape_name);

}  // namespace
}  // namespace sluice::engine
