// Sizes of records and workspaces as the planner computes them; the tests of the templates check
// that kernels stay within them.
#include "planner/scratch/workspace.hpp"

#include <gtest/gtest.h>

#include "planner/graph/record.hpp"
#include "tests/engine/tiny_model.hpp"

namespace sluice::engine::testing {
namespace {

TEST(BlockRecord, KeepLevelsArePrefixesOfTheRecord) {
  planner::Job job = tiny_model("qwen3").job;
  job.compute = planner::ComputeType::bf16;
  job.seq_len = 64;
  job.micro_batch = 2;  // T = 128 tokens, hidden 8, 4 heads and 1 kv head of 6, intermediate 10.
  const planner::BlockRecord record = planner::block_record(job);
  EXPECT_EQ(record.x, 0_B);
  EXPECT_EQ(record.input_bytes, 2048_B);  // 128 * 8 * 2
  EXPECT_EQ(planner::stream_bytes(job), record.input_bytes);
  EXPECT_EQ(record.k - record.q, 6144_B);                  // 128 * 24 * 2
  EXPECT_EQ(record.v - record.k, 1536_B);                  // 128 * 6 * 2
  EXPECT_EQ(record.k_rstd - record.q_rstd, 2048_B);        // 128 * 4 * 4
  EXPECT_EQ(record.attention - record.k_rstd, 512_B);      // 128 * 1 * 4
  EXPECT_EQ(record.selective_bytes - record.lse, 2048_B);  // 128 * 4 * 4
  EXPECT_EQ(record.residual, record.selective_bytes);
  EXPECT_EQ(record.all_bytes - record.up, 2560_B);  // 128 * 10 * 2
  EXPECT_EQ(record.kept(planner::Keep::input), record.input_bytes);
  EXPECT_EQ(record.kept(planner::Keep::selective), record.selective_bytes);
  EXPECT_EQ(record.kept(planner::Keep::all), record.all_bytes);
}

TEST(BlockRecord, WithoutNormsOfQAndKThereAreNoStatistics) {
  const planner::BlockRecord record = planner::block_record(tiny_model("llama").job);
  EXPECT_EQ(record.q_rstd, record.attention);
  EXPECT_EQ(record.k_rstd, record.attention);
}

TEST(BlockRecord, OfAnMlpInChunksHoldsNothingOfIt) {
  planner::Job job = tiny_model("llama").job;
  job.compute = planner::ComputeType::bf16;
  job.seq_len = 2048;
  job.model.intermediate = 1000;
  const planner::BlockRecord whole = planner::block_record(job);
  const Bytes whole_scratch = planner::block_workspace(job).total;
  job.mlp_chunk = 2048;  // A single chunk counts as none.
  EXPECT_EQ(planner::block_record(job).all_bytes, whole.all_bytes);
  job.mlp_chunk = 1024;
  const planner::BlockRecord chunked = planner::block_record(job);
  EXPECT_EQ(chunked.residual, whole.residual);
  EXPECT_EQ(chunked.gate, chunked.all_bytes);
  EXPECT_EQ(whole.all_bytes - chunked.all_bytes, Bytes(2 * 2048 * 1000 * 2));
  // The host computes 512 tokens at a time: their gate and up, in bf16.
  EXPECT_EQ(planner::block_workspace(job).total - whole_scratch, Bytes(2 * 512 * 1000 * 2));
}

TEST(Workspace, IsTheLargerOfBlockAndHead) {
  planner::Job job = tiny_model("llama").job;
  EXPECT_EQ(planner::workspace_bytes(job), planner::block_workspace(job).total);
  job.model.vocab = 100000;
  EXPECT_EQ(planner::workspace_bytes(job), planner::head_workspace(job).total);
}

TEST(Workspace, HeadHoldsAPanelTheChunkAndItsLogits) {
  planner::Job job = tiny_model("llama").job;
  job.model.hidden = 64;
  job.model.vocab = 1 << 15;  // 2^21 weights: two panels of 2^14 rows.
  job.seq_len = 256;
  job.loss_chunk = 128;
  EXPECT_EQ(planner::panel_rows(job.model.vocab, 64), 1 << 14);
  const std::int64_t floats = (1 << 20) + 64 + 128 + 2 * 128 * 64 + 128 * (1 << 15);
  EXPECT_EQ(planner::head_workspace(job).total, Bytes(4 * floats));
  job.compute = planner::ComputeType::bf16;  // Also the chunk's input in fp32.
  EXPECT_EQ(planner::head_workspace(job).total, Bytes(4 * (floats + 128 * 64)));
}

TEST(Workspace, PanelsHaveAtLeastSixteenRowsOrAll) {
  EXPECT_EQ(planner::panel_rows(5, std::int64_t{1} << 30), 5);
  EXPECT_EQ(planner::panel_rows(100, std::int64_t{1} << 30), 16);
  EXPECT_EQ(planner::panel_rows(100, 8), 100);
}

}  // namespace
}  // namespace sluice::engine::testing
