#include <gtest/gtest.h>

#include "planner/cost.hpp"
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
