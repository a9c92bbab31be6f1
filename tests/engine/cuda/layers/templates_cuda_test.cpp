// The cuda backend's blocks against the host backend's fp32 ones, on the same bf16 weights and
// inputs: errors are those of rounding to bf16, and recomputed records and repeated runs have the
// same bits.
#include <string_view>

#include "engine/cuda/kernels/norm.hpp"
#include "sim/error.hpp"
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

/// Documents of 30, 1 and 97 tokens in the first sequence; the second is one.
std::vector<std::int32_t> marked_tokens(const planner::Job& job) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(job.micro_tokens()), 5);
  for (const std::size_t start : {0, 30, 31, 128}) ids[start] = ~ids[start];
  return ids;
}

/// Results that the host computes in fp32 from the same values.
struct Expected {
  std::vector<float> next, stream_gradient, gradient;
};

Expected host_block(const planner::Job& job, const Halves& high, const Halves& x, const Halves& d) {
  const HostTemplates templates(job);
  const planner::BlockRecord layout = planner::block_record(job);
  const Halves low(high.size());
  std::vector<std::byte> record(static_cast<std::size_t>(layout.all_bytes.count()));
  HostScratch scratch(job);
  const Workspace workspace = scratch.workspace();
  auto* input = reinterpret_cast<float*>(record.data());
  for (std::size_t i = 0; i < x.size(); ++i) input[i] = cuda::testing::value_of(x[i]);
  Expected expected{std::vector<float>(x.size()), {}, std::vector<float>(high.size())};
  for (const std::uint16_t value : d)
    expected.stream_gradient.push_back(cuda::testing::value_of(value));
  const std::vector<std::int32_t> tokens = marked_tokens(job);
  const bool documents = job.attention == planner::AttentionSpan::document;
  const RecordView view{.record = record.data(),
                        .full = nullptr,
                        .kept = layout.all_bytes,
                        .documents = documents ? tokens.data() : nullptr};
  templates.block_forward({high.data(), low.data()}, view,
                          reinterpret_cast<std::byte*>(expected.next.data()), workspace);
  templates.block_backward({high.data(), low.data()}, expected.gradient.data(), true, view,
                           reinterpret_cast<std::byte*>(expected.stream_gradient.data()),
                           workspace);
  return expected;
}

void CudaTemplatesTest::expect_agreement(planner::AttentionSpan span, std::int64_t mlp_chunk,
                                         std::int64_t experts) {
  planner::Job job = small_job(GetParam(), planner::ComputeType::bf16);
  planner::Job on_host = small_job(GetParam(), planner::ComputeType::fp32);
  job.attention = on_host.attention = span;
  job.mlp_chunk = mlp_chunk;
  for (planner::Job* each : {&job, &on_host}) {
    if (each->model.experts) each->model.experts->count = experts;
  }
  const std::int64_t elements = job.micro_tokens() * job.model.hidden;
  RandomValues random(3);
  Halves x = random.halves(elements), high = weights(job, 1);
  const Halves d = random.halves(elements, 0.01F);
  make_choices_plain(job, high, x);
  const Expected expected = host_block(on_host, high, x, d);
  const DeviceArray<std::int32_t> tokens(marked_tokens(job));

  CudaTemplates templates(job);
  const planner::BlockRecord layout = planner::block_record(job);
  const DeviceArray<std::uint16_t> weight(high), input(x);
  const DeviceArray<std::byte> workspace(planner::cuda_workspace(job).total.count());
  std::vector<std::vector<std::uint16_t>> next_runs;
  std::vector<std::vector<float>> gradient_runs;
  for (const planner::Keep keep :
       {planner::Keep::all, planner::Keep::selective, planner::Keep::input}) {
    const DeviceArray<std::byte> record(layout.all_bytes.count()), full(layout.all_bytes.count());
    const DeviceArray<std::uint16_t> next(elements), stream_gradient(d);
    const DeviceArray<float> gradient(static_cast<std::int64_t>(high.size()));
    const CudaRecord view{
        .input = reinterpret_cast<std::byte*>(input.data()),
        .record = record.data(),
        .full = full.data(),
        .kept = layout.kept(keep),
        .documents = span == planner::AttentionSpan::document ? tokens.data() : nullptr};
    templates.block_forward(stream_, weight.data(), view, reinterpret_cast<std::byte*>(next.data()),
                            workspace.data());
    if (keep != planner::Keep::all) {
      cuda::testing::succeed(
          cudaMemsetAsync(full.data(), 0xff,
                          static_cast<std::size_t>((layout.all_bytes - layout.kept(keep)).count()),
                          stream_),
          "memset");
      templates.block_recompute(stream_, weight.data(), view, keep, workspace.data());
    }
    templates.block_backward(stream_, weight.data(), gradient.data(), cuda::Into::overwrite, view,
                             reinterpret_cast<std::byte*>(stream_gradient.data()),
                             workspace.data());
    finish();
    EXPECT_TRUE(record.intact() && full.intact() && next.intact() && gradient.intact() &&
                workspace.intact());
    next_runs.push_back(next.values());
    gradient_runs.push_back(gradient.values());
    // One rounding is at most 2^-9 relative; a block rounds about ten times between input and
    // output.
    EXPECT_LT(relative_error(doubles(next.values()), doubles(expected.next)), 0.01);
    EXPECT_LT(relative_error(doubles(stream_gradient.values()), doubles(expected.stream_gradient)),
              0.02);
    for (const planner::TensorSpec& tensor : planner::unit_tensors(job.model, 1).tensors) {
      const auto slice = [&](const std::vector<float>& all) {
        return doubles(std::vector<float>(all.begin() + tensor.offset,
                                          all.begin() + tensor.offset + tensor.size()));
      };
      // A key bias moves all scores of a query equally, so its gradient is nothing but rounding.
      if (tensor.name.ends_with("k_proj.bias")) continue;
      const double error = relative_error(slice(gradient.values()), slice(expected.gradient));
      RecordProperty(tensor.name, std::to_string(error));
      // The router's gradient consists of differences between experts' outputs.
      const bool router = tensor.role == planner::TensorRole::router;
      EXPECT_LT(error, router ? 0.06 : 0.03) << tensor.name;
    }
  }
  EXPECT_EQ(next_runs[0], next_runs[1]);
  EXPECT_EQ(next_runs[0], next_runs[2]);
  EXPECT_EQ(gradient_runs[0], gradient_runs[1]) << "recomputed from selective";
  EXPECT_EQ(gradient_runs[0], gradient_runs[2]) << "recomputed from the input";
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
