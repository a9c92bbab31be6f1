#include <gtest/gtest.h>

#include "planner/costs/cost.hpp"
#include "planner/costs/cost_model.hpp"
#include "planner/costs/rotary_work.hpp"
#include "planner/costs/tiled_work.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

using test::tiny_job;

double product_flops(const Work& work) {
  double total = 0;
  for (const Gemm& g : work.gemms) total += flops(g).count();
  return total;
}

TEST(Work, ProductsOfAStepAreSixFlopsAParameterAndToken) {
  for (const bool tied : {false, true}) {
    const Job job = tiny_job(tied);
    const double blocks = static_cast<double>(job.model.layers);
    const double step = static_cast<double>(job.micro_batches()) *
                        (blocks * (product_flops(work_of(job, Pass::block_forward, 1)) +
                                   product_flops(work_of(job, Pass::block_backward, 1))) +
                         product_flops(work_of(job, Pass::loss, unit_count(job.model) - 1)));
    EXPECT_EQ(step, 6.0 * static_cast<double>(matmul_parameters(job.model) * job.tokens()));
  }
}

TEST(Work, CausalAttentionCountsVisiblePairsOnly) {
  // 4 tokens see 1 + 2 + 3 + 4 = 10 keys; scores and values take 2 d FLOPs a pair each.
  AttentionWork work{.sequences = 3, .length = 4, .heads = 2, .kv_heads = 1, .head_dim = 8};
  EXPECT_EQ(flops(work).count(), 3 * 2 * 10 * 4.0 * 8);
  work.backward = true;
  EXPECT_EQ(flops(work).count(), 3 * 2 * 10 * 10.0 * 8);
  work.window = 2;  // 1 + 2 + 2 + 2 = 7 keys
  EXPECT_EQ(flops(work).count(), 3 * 2 * 7 * 10.0 * 8);
}

TEST(Work, TiledAttentionComputesWholeTilesThatHoldAVisibleScore) {
  // Two rows of tiles of 128 queries: one tile, and two. Two heads.
  AttentionWork work{.sequences = 1, .length = 256, .heads = 2, .kv_heads = 1, .head_dim = 256};
  const double tile = 128.0 * 128;
  EXPECT_EQ(tiled_work(work).products.count(), 2 * 2 * 256.0 * 6 * tile);
  EXPECT_EQ(tiled_work(work).scores, Bytes(12 * 6 * 128 * 128));
  work.window = 1;  // A tile a row.
  EXPECT_EQ(tiled_work(work).products.count(), 2 * 2 * 256.0 * 4 * tile);
  work.backward = true;
  EXPECT_EQ(tiled_work(work).products.count(), 5 * 2 * 256.0 * 4 * tile);
  EXPECT_EQ(tiled_work(work).scores, Bytes(26 * 4 * 128 * 128));
}

TEST(Work, AttentionOfWideHeadsTakesTheTimeOfTilesOnACudaDeviceAlone) {
  Job job = tiny_job();
  job.compute = ComputeType::bf16;
  const auto attention = [&](std::int64_t head_dim) {
    job.model.head_dim = head_dim;
    return work_of(job, Pass::block_forward, 1).attention.front();
  };
  EXPECT_FALSE(attention(128).tiled);
  const AttentionWork wide = attention(256);
  EXPECT_TRUE(wide.tiled);
  MachineProfile profile;
  profile.peak_bf16.value = profile.attention_forward.value = FlopsPerSecond(1e12);
  profile.hbm_bandwidth.value = BytesPerSecond(1e9);
  Work work;
  work.attention = {wide};
  const auto seconds = [&](DeviceKind device) {
    profile.device = device;
    return ProfileCostModel(profile, {}).compute(CostKey{"one"}, work).amount.count();
  };
  EXPECT_EQ(seconds(DeviceKind::cuda), tiled_time(profile, wide).count());
  EXPECT_EQ(seconds(DeviceKind::host), flops(wide).count() / 1e12);
}

TEST(Work, GeneralNormsOfHeadsWaitInRoundsOfEightHeads) {
  ModelShape shape = tiny_job().model;
  shape.heads = 20;
  shape.head_norm = HeadNorm::full_width;
  // 264 tokens are a token for each block; 20 heads are three rounds, twice.
  const Bytes whole = general_norm_traffic(shape, 16, 264);
  EXPECT_GT(whole, Bytes(0));
  EXPECT_EQ(general_norm_traffic(shape, 16, 265), 2 * whole);
  shape.head_norm = HeadNorm::per_head;
  shape.norms.one_plus_weight = true;
  EXPECT_EQ(2 * general_norm_traffic(shape, 16, 264), whole);
  shape.norms.one_plus_weight = false;
  shape.head_dim = 16;
  EXPECT_EQ(general_norm_traffic(shape, 16, 264), Bytes(0)) << "kernels for whole heads";
  shape.head_norm = HeadNorm::none;
  EXPECT_EQ(general_norm_traffic(shape, 16, 264), Bytes(0));
}

TEST(Work, RecomputationIsForwardLessWhatIsKept) {
  const Job job = tiny_job();
  const ModelShape& m = job.model;
  const double t = static_cast<double>(job.micro_tokens());
  const double forward = product_flops(work_of(job, Pass::block_forward, 1));
  const double down = 2 * t * static_cast<double>(m.hidden * m.intermediate);
  const Work from_input = work_of(job, Pass::block_recompute_input, 1);
  EXPECT_EQ(product_flops(from_input), forward - down);
  EXPECT_EQ(from_input.attention.size(), 1u);
  const double qkv =
      2 * t * static_cast<double>(m.hidden * (m.heads + 2 * m.kv_heads) * m.head_dim);
  const Work selective = work_of(job, Pass::block_recompute_selective, 1);
  EXPECT_EQ(product_flops(selective), forward - down - qkv);
  EXPECT_TRUE(selective.attention.empty());
}

TEST(Work, AnMlpInChunksIsComputedAgainInTheBackwardPassAlone) {
  Job job = tiny_job();
  const ModelShape& m = job.model;
  const auto products = [&job](Pass pass) { return product_flops(work_of(job, pass, 1)); };
  const double expand = 4 * static_cast<double>(job.micro_tokens() * m.hidden * m.intermediate);
  const double forward = products(Pass::block_forward);
  const double backward = products(Pass::block_backward);
  const double rebuilt = products(Pass::block_recompute_input);
  const Bytes streamed = work_of(job, Pass::block_backward, 1).streamed;
  job.mlp_chunk = 12;  // 32 tokens: 12 + 12 + 8
  EXPECT_EQ(products(Pass::block_forward), forward);
  EXPECT_EQ(products(Pass::block_backward), backward + expand);
  EXPECT_EQ(products(Pass::block_recompute_input), rebuilt - expand);
  // Weight gradients in fp32 are read and written for two chunks more than one.
  EXPECT_GE(work_of(job, Pass::block_backward, 1).streamed - streamed,
            Bytes(2 * 2 * 4 * 3 * m.hidden * m.intermediate));
}

TEST(Work, BlocksOfQueriesPayForTheSumsTheyAddTo) {
  Job job = tiny_job();
  job.model.heads = 32;
  job.model.kv_heads = 8;
  job.model.head_dim = 128;
  job.seq_len = 8192;
  EXPECT_EQ(work_of(job, Pass::block_backward, 1).attention.front().sums, Bytes(0));
  job.seq_len = 524288;
  const AttentionWork work = work_of(job, Pass::block_backward, 1).attention.front();
  // 4096 queries would have 2^31 scores, which a run stays below: each head takes 132 blocks of
  // 3968 (31 tiles) and a rest, which together read 3968 x (1 + 2 + ... + 132) + 524288 keys.
  const std::int64_t keys = std::int64_t{3968} * 132 * 133 / 2 + job.seq_len;
  EXPECT_EQ(work.sums, Bytes(job.micro_batch * 32 * keys * 128 * 20));
  EXPECT_EQ(work.narrow_keys, job.micro_batch * 32 * keys);
}

TEST(Work, ALastShorterLossChunkIsCounted) {
  Job job = tiny_job();
  job.loss_chunk = 12;  // 32 tokens: 12 + 12 + 8
  const Work ragged = work_of(job, Pass::loss, unit_count(job.model) - 1);
  job.loss_chunk = 32;
  const Work whole = work_of(job, Pass::loss, unit_count(job.model) - 1);
  EXPECT_EQ(product_flops(ragged), product_flops(whole));
  EXPECT_EQ(ragged.streamed, whole.streamed);
  EXPECT_GT(ragged.kernels, whole.kernels);
}

}  // namespace
}  // namespace sluice::planner
