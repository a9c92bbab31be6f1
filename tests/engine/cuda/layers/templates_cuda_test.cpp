// The cuda backend's blocks against the host backend's, for families like llama's.
#include <string_view>

#include "engine/cuda/kernels/norm.hpp"
#include "sim/error.hpp"
#include "tests/engine/cuda/layers/block_agreement.hpp"
#include "tests/engine/cuda/layers/templates_run.hpp"

namespace sluice::engine {
namespace {

class CudaTemplatesTest : public TemplatesTest, public EveryFamily {
 protected:
  /// Compares forward, recomputation and backward of a block with the host.
  void expect_agreement(planner::AttentionSpan span, std::int64_t mlp_chunk = planner::kMlpChunk,
                        std::int64_t experts = 8);
};

/// Tests for families whose blocks are mixtures of experts.
class CudaMixtures : public CudaTemplatesTest {};

void CudaTemplatesTest::expect_agreement(planner::AttentionSpan span, std::int64_t mlp_chunk,
                                         std::int64_t experts) {
  planner::Job job = small_job(GetParam(), planner::ComputeType::bf16);
  job.attention = span;
  job.mlp_chunk = mlp_chunk;
  if (job.model.experts) job.model.experts->count = experts;
  expect_block_agrees(stream_, job, 1);
}

TEST_P(CudaTemplatesTest, ABlocksForwardAndBackwardAgreeWithTheHost) {
  expect_agreement(planner::AttentionSpan::sequence);
}

TEST_P(CudaTemplatesTest, AnMlpInChunksAgreesWithTheHost) {
  // 256 tokens make chunks of 96, 96 and 64.
  expect_agreement(planner::AttentionSpan::sequence, 96);
}

TEST_P(CudaTemplatesTest, ABlockOfDocumentsAgreesWithTheHost) {
  expect_agreement(planner::AttentionSpan::document);
}

TEST_P(CudaMixtures, ABlockOfSixExpertsAgreesWithTheHost) {
  expect_agreement(planner::AttentionSpan::sequence, planner::kMlpChunk, 6);
}

TEST_P(CudaMixtures, ABlockOfTwelveExpertsAgreesWithTheHost) {
  expect_agreement(planner::AttentionSpan::sequence, planner::kMlpChunk, 12);
}

INSTANTIATE_TEST_SUITE_P(Families, CudaTemplatesTest, every_family());
INSTANTIATE_TEST_SUITE_P(Families, CudaMixtures,
                         ::testing::Values(planner::Family::qwen3_moe, planner::Family::mixtral));

TEST(CudaTemplates, RowsWiderThanANormCanHoldAreRefusedByName) {
  planner::Job job = small_job(planner::Family::qwen2, planner::ComputeType::bf16);
  job.model.hidden = cuda::kMostNormWidth;
  EXPECT_NO_THROW(CudaTemplates::require_computable(job));
  job.model.hidden += 128;
  try {
    CudaTemplates::require_computable(job);
    FAIL() << "computes it";
  } catch (const BadRequest& refused) {
    EXPECT_TRUE(std::string_view(refused.what()).starts_with("model.hidden_size: "))
        << refused.what();
  }
}

}  // namespace
}  // namespace sluice::engine
