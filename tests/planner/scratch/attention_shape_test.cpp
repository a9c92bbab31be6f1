// Tests of attention's scratch memory by arithmetic alone; run anywhere.
#include "planner/scratch/attention_shape.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "planner/catalogue/catalogue.hpp"
#include "planner/scratch/cuda_workspace.hpp"
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

AttentionShape llama_shape(std::int64_t length) {
  return {.sequences = 1,
          .length = length,
          .heads = 32,
          .kv_heads = 8,
          .head_dim = kHeadDim,
          .qkv_row = 48 * kHeadDim,
          .out_row = 32 * kHeadDim};
}

Bytes run_bound(const AttentionShape& shape) {
  return attention_backward_run_bound(shape, GradientOrder::fixed);
}
AttentionShape jobs_part(const AttentionShape& shape) {
  return attention_backward_part(shape, GradientOrder::fixed,
                                 attention_run_limit(shape, GradientOrder::fixed));
}

constexpr std::int64_t kConstant = 65536;
constexpr Bytes kGibibyte{std::int64_t{1} << 30};

TEST(AttentionWorkspace, FixedOrderHoldsTheScoresGradientInTwoBytes) {
  // 16 sequences of 28 heads of 1024 x 1024 scores.
  const Bytes scores(std::int64_t{2} * 16 * 28 * 1024 * 1024);
  const Bytes bound = run_bound(qwen_shape(16, 1024));
  EXPECT_GE(bound, scores);
  EXPECT_LE(bound / scores, 1.3);
}

TEST(AttentionWorkspace, AnyOrderGrowsWithLengthAlone) {
  const Bytes once = attention_backward_run_bound(qwen_shape(1, 4096), GradientOrder::any);
  const Bytes twice = attention_backward_run_bound(qwen_shape(1, 8192), GradientOrder::any);
  EXPECT_NEAR(twice / once, 2.0, 0.01);
}

TEST(AttentionWorkspace, MicroBatchesOfShortSequencesRunWhole) {
  // For each query and head: 4 bytes of sums, 2 bytes a key, and 4 bytes a column of its share of
  // the gradients of keys and values.
  const std::int64_t query = 4 + 2 * 1024 + 4 * kHeadDim;
  EXPECT_EQ(jobs_part(qwen_shape(4, 1024)).sequences, 4);
  EXPECT_EQ(attention_workspace_bound(qwen_shape(4, 1024)),
            Bytes(4 * 28 * 1024 * query + kConstant));
  EXPECT_EQ(jobs_part(qwen_shape(8, 1024)).sequences, 8);
  EXPECT_EQ(attention_workspace_bound(qwen_shape(8, 1024)),
            Bytes(8 * 28 * 1024 * query + kConstant));
  AttentionShape qwen_3b = qwen_shape(8, 1024);
  qwen_3b.heads = 16;
  qwen_3b.kv_heads = 2;
  EXPECT_EQ(attention_workspace_bound(qwen_3b), Bytes(8 * 16 * 1024 * query + kConstant));
  AttentionShape qwen_14b = qwen_shape(4, 1024);
  qwen_14b.heads = 40;
  qwen_14b.kv_heads = 8;
  EXPECT_EQ(attention_workspace_bound(qwen_14b), Bytes(4 * 40 * 1024 * query + kConstant));
}

TEST(AttentionWorkspace, Llama8192RunsTwoGroupsOfHeadsAtATime) {
  const AttentionShape part = jobs_part(llama_shape(8192));
  EXPECT_EQ(part.heads, 4);
  EXPECT_EQ(part.kv_heads, 1);
  EXPECT_EQ(part.queries, std::nullopt);
  const std::int64_t group = std::int64_t{4} * 8192 * (4 + 2 * 8192 + 4 * kHeadDim) + kConstant;
  EXPECT_EQ(attention_workspace_bound(llama_shape(8192)), Bytes(2 * group));
  EXPECT_EQ(Bytes(2 * group), Bytes(1'107'689'472));
}

TEST(AttentionWorkspace, AJobsWorkspaceHoldsExactlyWhatItsRunsTake) {
  Job job;
  job.model = find_model("llama-3.1-8b");
  job.seq_len = 8192;
  job.micro_batch = 1;
  job.batch_size = 16;
  job.loss_chunk = 2048;
  const CudaWorkspace space = cuda_workspace(job);
  EXPECT_EQ(space.total - space.attention, Bytes(1'107'689'472));
}

TEST(AttentionWorkspace, Llama16384RunsHeadByHead) {
  // A group of four heads would need 2.2 GB. Gradients of keys and values of one run and of the sum
  // are in fp32.
  const AttentionShape part = jobs_part(llama_shape(16384));
  EXPECT_EQ(part.heads, 1);
  EXPECT_EQ(part.queries, std::nullopt);
  const std::int64_t head = std::int64_t{16384} * (4 + 2 * 16384) + kConstant;
  const std::int64_t sums = std::int64_t{4} * 4 * 16384 * kHeadDim;
  EXPECT_EQ(attention_workspace_bound(llama_shape(16384)), Bytes(2 * (head + sums)));
}

TEST(AttentionWorkspace, Llama32768RunsThreeBlocksOfQueriesAHead) {
  // 256 tiles of 128: two blocks of 2^14 x 2^15 scores fill the limit before anything else.
  const AttentionShape part = jobs_part(llama_shape(32768));
  EXPECT_EQ(part.heads, 1);
  EXPECT_EQ(part.queries, 86 * 128);
  const std::int64_t run = std::int64_t{11008} * (4 + 2 * 32768) + kConstant;
  const std::int64_t sums = std::int64_t{4} * 4 * 32768 * kHeadDim;
  EXPECT_EQ(attention_workspace_bound(llama_shape(32768)), Bytes(2 * (run + sums)));
  EXPECT_EQ(Bytes(2 * (run + sums)), Bytes(1'577'277'440));
  EXPECT_EQ(attention_blocks(llama_shape(32768), part).size(), 3);
}

TEST(AttentionWorkspace, BlocksHave12288QueriesWhereAGibibyteHoldsFewer) {
  for (const std::int64_t length : {65536, 131072}) {
    const std::int64_t queries = jobs_part(llama_shape(length)).queries.value();
    EXPECT_LE(queries, 12288) << length;  // As equal as tiles of 128 allow.
    EXPECT_GT(queries, 10752) << length;
    const std::int64_t run = queries * (4 + 2 * length) + kConstant;
    const std::int64_t sums = std::int64_t{4} * 4 * length * kHeadDim;
    EXPECT_EQ(attention_workspace_bound(llama_shape(length)), Bytes(2 * (run + sums))) << length;
  }
  EXPECT_EQ(jobs_part(llama_shape(131072)).queries, 12032);
  EXPECT_EQ(attention_run_limit(llama_shape(32768), GradientOrder::fixed), kGibibyte);
}

TEST(AttentionWorkspace, RunsOfOneHeadReadAllKeysThatABlockSees) {
  EXPECT_EQ(attention_keys_of_narrow_runs(llama_shape(8192)), 0);
  EXPECT_EQ(attention_keys_of_narrow_runs(llama_shape(16384)), 32 * 16384);
  EXPECT_EQ(attention_keys_of_narrow_runs(llama_shape(32768)), 32 * (11008 + 22016 + 32768));
  EXPECT_EQ(attention_keys_of_narrow_runs(llama_shape(32768), GradientOrder::any), 0);
  // Heads with keys of their own share no gradients, and their runs are as narrow.
  AttentionShape own_keys = llama_shape(16384);
  own_keys.kv_heads = own_keys.heads;
  EXPECT_EQ(attention_backward_sums(own_keys, jobs_part(own_keys)), Bytes(0));
  EXPECT_EQ(attention_keys_of_narrow_runs(own_keys), 32 * 16384);
}

TEST(AttentionWorkspace, ARunHasFewerScoresThan32BitsCount) {
  for (const std::int64_t length : {524288, 1 << 20, 1 << 22}) {
    const std::int64_t queries = jobs_part(llama_shape(length)).queries.value();
    EXPECT_LT(queries * length, std::int64_t{1} << 31) << length;
    EXPECT_GT((queries + 256) * length, std::int64_t{1} << 31) << length;
  }
  EXPECT_EQ(jobs_part(llama_shape(524288)).queries, 3968);
  EXPECT_EQ(attention_workspace_bound(llama_shape(524288)), Bytes(10'469'145'600));
}

TEST(AttentionWorkspace, GrowsLinearlyOnceLimited) {
  for (std::int64_t length = 16384; length <= 1 << 20; length *= 2) {
    const Bytes sums(std::int64_t{16} * length * kHeadDim);
    const Bytes block(std::int64_t{12288} * (4 + 2 * length) + kConstant);
    EXPECT_LE(attention_workspace_bound(llama_shape(length)),
              (std::max(kGibibyte, block) + sums) * 2)
        << length;
    EXPECT_LE(attention_workspace_bound(llama_shape(length)), (Bytes(4'300'000'000) + sums) * 2);
  }
}

TEST(AttentionWorkspace, SumsAreReadAndWrittenOnceForEveryBlockThatAddsToThem) {
  // 16384: one run for each head over all keys; two bf16 parts are read, fp32 sums are read and
  // written.
  EXPECT_EQ(attention_sum_traffic(llama_shape(16384)),
            Bytes(std::int64_t{32} * 16384 * kHeadDim * 2 * (2 + 4 + 4)));
  // 32768: blocks of 11008, 22016 and 32768 keys.
  EXPECT_EQ(attention_sum_traffic(llama_shape(32768)),
            Bytes(std::int64_t{32} * (11008 + 22016 + 32768) * kHeadDim * 2 * (2 + 4 + 4)));
  EXPECT_EQ(attention_sum_traffic(llama_shape(8192)), Bytes(0));
}

TEST(AttentionWorkspace, OneRunAtATimeTakesHalf) {
  const AttentionShape shape = llama_shape(8192);
  EXPECT_EQ(attention_workspace_bound(shape, GradientOrder::fixed, {.in_flight = 1}) * 2,
            attention_workspace_bound(shape));
}

TEST(AttentionParts, AreWholeSequencesThenGroupsThenHeadsThenBlocks) {
  const AttentionShape shape = qwen_shape(6, 1024);
  const auto part = [&](Bytes limit) {
    return attention_backward_part(shape, GradientOrder::fixed, limit);
  };
  EXPECT_EQ(part(run_bound(shape)).sequences, 6);
  EXPECT_EQ(part(run_bound(shape) - Bytes(1)).sequences, 3);
  const AttentionShape groups = part(run_bound(qwen_shape(1, 1024)) - Bytes(1));
  EXPECT_EQ(groups.sequences, 1);
  EXPECT_EQ(groups.kv_heads, 2);
  EXPECT_EQ(groups.heads, 14);
  EXPECT_EQ(groups.qkv_row, shape.qkv_row);
  EXPECT_FALSE(shares_keys_between_runs(shape, groups));

  AttentionShape group = groups;
  group.kv_heads = 1;
  group.heads = 7;
  EXPECT_FALSE(shares_keys_between_runs(shape, part(run_bound(group))));
  const AttentionShape head = part(run_bound(group) - Bytes(1));
  EXPECT_EQ(head.heads, 1);
  EXPECT_EQ(head.queries, std::nullopt);
  EXPECT_TRUE(shares_keys_between_runs(shape, head));
  const AttentionShape block = part(run_bound(head) - Bytes(1));
  EXPECT_EQ(block.heads, 1);
  EXPECT_EQ(block.queries, 512);
  EXPECT_TRUE(shares_keys_between_runs(shape, block));
}

TEST(AttentionParts, RefuseALimitBelowOneTileOfQueries) {
  AttentionShape tile = qwen_shape(1, 8192);
  tile.heads = tile.kv_heads = 1;
  tile.queries = 128;
  const auto part = [](Bytes limit) {
    return attention_backward_part(qwen_shape(1, 8192), GradientOrder::fixed, limit);
  };
  EXPECT_EQ(part(run_bound(tile)).queries, 128);
  EXPECT_THROW((void)part(run_bound(tile) - Bytes(1)), BadRequest);
}

TEST(AttentionParts, TheLongestSequenceFitsAndTheNextDoesNot) {
  const Bytes limit = kGibibyte;
  const auto kinds = {AttentionRunKind::one_head, AttentionRunKind::whole_group};
  for (const AttentionRunKind kind : kinds) {
    const std::int64_t longest =
        attention_longest(llama_shape(1), kind, GradientOrder::fixed, limit);
    const auto fits = [&](std::int64_t length) {
      const AttentionShape shape = llama_shape(length);
      const AttentionShape part = jobs_part(shape);
      return kind == AttentionRunKind::one_head ? !part.queries
                                                : !shares_keys_between_runs(shape, part);
    };
    EXPECT_EQ(longest % 128, 0);
    EXPECT_TRUE(fits(longest));
    EXPECT_FALSE(fits(longest + 128));
  }
}

/// Query i sees keys max(0, i - window + 1) to i: each must meet it in one block.
void expect_blocks_cover(const AttentionShape& shape, std::int64_t queries) {
  AttentionShape part = shape;
  part.queries = queries;
  std::int64_t next = 0;
  for (const AttentionBlock& block : attention_blocks(shape, part)) {
    EXPECT_EQ(block.first_query, next);
    EXPECT_GT(block.queries, 0);
    EXPECT_LE(block.queries, queries);
    next += block.queries;
    EXPECT_EQ(block.first_key + block.keys, next) << "the ranges end at the same position";
    const std::int64_t first_seen =
        shape.window ? std::max(std::int64_t{0}, block.first_query - *shape.window + 1) : 0;
    EXPECT_LE(block.first_key, first_seen);
    EXPECT_GT(block.first_key + 128, first_seen) << "no tile of keys that no query sees";
    EXPECT_EQ(block.first_key % 128, 0);
  }
  EXPECT_EQ(next, shape.length);
}

TEST(AttentionBlocks, CoverWhatEachQuerySees) {
  AttentionShape shape = llama_shape(1000);
  expect_blocks_cover(shape, 128);
  expect_blocks_cover(shape, 512);
  shape.window = 300;
  expect_blocks_cover(shape, 128);
  expect_blocks_cover(shape, 256);
  shape.window = 1;
  expect_blocks_cover(shape, 128);
}

TEST(AttentionBlocks, OfAWindowHoldTheKeysThatItReaches) {
  AttentionShape shape = llama_shape(32768);
  shape.window = 4096;
  const AttentionShape part = jobs_part(shape);
  for (const AttentionBlock& block : attention_blocks(shape, part)) {
    EXPECT_LE(block.queries, *part.queries);
    EXPECT_LE(block.keys, part.length);
  }
  EXPECT_EQ(*part.queries, 16384);
  EXPECT_EQ(part.length, 16384 + 4096);
}

}  // namespace
}  // namespace sluice::planner
