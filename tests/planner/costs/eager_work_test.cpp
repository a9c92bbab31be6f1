#include "planner/costs/eager_work.hpp"

#include <gtest/gtest.h>

#include "planner/graph/record.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

Job eager_job() {
  Job job = test::tiny_job();
  job.operators = Operators::eager;
  return job;
}

TEST(EagerWork, ProductsAndAttentionAreThoseOfTheFusedPass) {
  const Job job = eager_job();
  for (const Pass pass : {Pass::block_forward, Pass::block_backward, Pass::loss}) {
    const std::size_t unit = pass == Pass::loss ? unit_count(job.model) - 1 : 1;
    EXPECT_EQ(work_of(job, pass, unit).flops(), work_of(test::tiny_job(), pass, unit).flops());
  }
}

TEST(EagerWork, RecomputationIsTheWholeForwardPass) {
  const Job job = eager_job();
  EXPECT_EQ(work_of(job, Pass::block_recompute_input, 1).flops(),
            work_of(job, Pass::block_forward, 1).flops());
}

TEST(EagerWork, EveryOperatorReadsAndWritesItsTensors) {
  // h 64, q + k 64 + 32, i 128: 84 h + 20 (q + k) + 10 i bytes a token forward.
  const Job job = eager_job();
  const std::int64_t forward = 84 * 64 + 20 * 96 + 10 * 128;
  const std::int64_t backward = 194 * 64 + 26 * 96 + 18 * 128;
  EXPECT_EQ(work_of(job, Pass::block_forward, 1).streamed, Bytes(32 * forward));
  EXPECT_EQ(work_of(job, Pass::block_backward, 1).streamed, Bytes(32 * backward));
  EXPECT_EQ(work_of(job, Pass::loss, 5).streamed, Bytes(32 * 256 * 12));
  EXPECT_GT(forward, work_of(test::tiny_job(), Pass::block_forward, 1).streamed.count() / 32);
}

TEST(EagerWork, NoMlpIsComputedInChunks) {
  Job job = eager_job();
  const Work whole = work_of(job, Pass::block_backward, 1);
  job.mlp_chunk = 8;
  EXPECT_EQ(work_of(job, Pass::block_backward, 1).flops(), whole.flops());
}

TEST(EagerWork, AutogradKeepsEveryLogit) {
  // 32 tokens of 256 logits in bf16 beside what one chunk takes.
  EXPECT_EQ(workspace_bytes(eager_job()), workspace_bytes(test::tiny_job()) + Bytes(32 * 256 * 2));
}

}  // namespace
}  // namespace sluice::planner
