// The cuda backend's head: its logits against double precision, its loss against the host backend.
#include "tests/engine/cuda/layers/templates_run.hpp"

namespace sluice::engine {
namespace {

class CudaHeadTest : public TemplatesTest {
 protected:
  /// Compares the head's loss and gradients with the host's, in fp32.
  void expect_agreement(const planner::ModelShape& shape);
};

TEST_F(CudaHeadTest, LogitsOfARowAgreeWithDouble) {
  planner::Job job = small_job(planner::Family::llama, planner::ComputeType::bf16);
  job.batch_size = job.micro_batch = 1;
  job.sequence_chunk = 1;
  const std::int64_t hidden = job.model.hidden, vocab = job.model.vocab;
  RandomValues random(12);
  const Halves row = random.halves(hidden), high = weights(job, 2);
  CudaTemplates templates(job);
  double squares = 0;
  for (const std::uint16_t value : row) squares += double(value_of(value)) * value_of(value);
  const double scale = 1 / std::sqrt(squares / double(hidden) + job.model.rms_eps);
  std::vector<double> expected;
  for (std::int64_t v = 0; v < vocab; ++v) {
    double sum = 0;
    for (std::int64_t h = 0; h < hidden; ++h) {
      const double norm = value_of(high[templates.ends().final_norm.offset + h]);
      const double normed = value_of(to_bf16(static_cast<float>(value_of(row[h]) * scale * norm)));
      sum += normed * value_of(high[templates.ends().lm_head.offset + v * hidden + h]);
    }
    expected.push_back(sum);
  }
  const DeviceArray<std::uint16_t> weight(high), input(row);
  const DeviceArray<std::byte> workspace(planner::cuda_workspace(job).total.count());
  std::vector<float> logits(static_cast<std::size_t>(vocab));
  templates.logits(stream_, weight.data(), weight.data() + templates.ends().lm_head.offset,
                   reinterpret_cast<const std::byte*>(input.data()), logits.data(),
                   workspace.data());
  finish();
  EXPECT_TRUE(workspace.intact());
  // A normed value on the edge between two bf16 values may be rounded the other way.
  cuda::testing::expect_close(logits, expected, cuda::testing::kOneRounding, 0.1, "logits");
}

void CudaHeadTest::expect_agreement(const planner::ModelShape& shape) {
  planner::Job job = small_job(planner::Family::llama, planner::ComputeType::bf16);
  planner::Job reference = small_job(planner::Family::llama, planner::ComputeType::fp32);
  job.model = reference.model = shape;
  const std::int64_t tokens = job.micro_tokens(), elements = tokens * job.model.hidden;
  RandomValues random(11);
  const Halves x = random.halves(elements);
  std::vector<std::int32_t> targets = random.below(tokens, static_cast<int>(job.model.vocab));
  targets[3] = -1;
  const Halves high = weights(job, 2);
  const float scale = 1.0F / static_cast<float>(tokens);

  const HostTemplates host(reference);
  const Halves low(high.size());
  std::vector<float> input, gradient(high.size()), stream_gradient(x.size());
  for (const std::uint16_t value : x) input.push_back(cuda::testing::value_of(value));
  HostScratch scratch(reference);
  LossArguments arguments{};
  arguments.head = {high.data(), low.data()};
  arguments.input = reinterpret_cast<const std::byte*>(input.data());
  arguments.targets = targets.data();
  arguments.scale = scale;
  arguments.gradient = gradient.data();
  arguments.first = true;
  arguments.stream_gradient = reinterpret_cast<std::byte*>(stream_gradient.data());
  const double expected = host.loss(arguments, scratch.workspace());

  CudaTemplates templates(job);
  const DeviceArray<std::uint16_t> weight(high), stream(x), d_stream(elements);
  const DeviceArray<std::int32_t> target(targets);
  const DeviceArray<float> d_weight(static_cast<std::int64_t>(high.size()));
  const DeviceArray<double> sum(1), sum_only(1);
  const DeviceArray<std::byte> workspace(planner::cuda_workspace(job).total.count());
  CudaLossArguments on_device{.head = weight.data(),
                              .lm_head = weight.data() + templates.ends().lm_head.offset,
                              .input = reinterpret_cast<const std::byte*>(stream.data()),
                              .targets = target.data(),
                              .scale = scale,
                              .gradient = d_weight.data(),
                              .lm_head_gradient = d_weight.data() + templates.ends().lm_head.offset,
                              .into = cuda::Into::overwrite,
                              .stream_gradient = reinterpret_cast<std::byte*>(d_stream.data()),
                              .loss_sum = sum.data()};
  templates.loss(stream_, on_device, workspace.data());
  on_device.loss_sum = sum_only.data();
  templates.loss_only(stream_, on_device, workspace.data());
  finish();
  EXPECT_TRUE(workspace.intact() && d_weight.intact() && d_stream.intact());
  EXPECT_NEAR(sum.values()[0], expected, 2e-3 * expected);
  EXPECT_EQ(sum.values()[0], sum_only.values()[0]);
  EXPECT_LT(relative_error(doubles(d_weight.values()), doubles(gradient)), 0.02);
  EXPECT_LT(relative_error(doubles(d_stream.values()), doubles(stream_gradient)), 0.02);
}

TEST_F(CudaHeadTest, TheLossAndItsGradientsAgreeWithTheHost) {
  planner::ModelShape shape = small_job(planner::Family::llama, planner::ComputeType::bf16).model;
  expect_agreement(shape);
  shape.norms.one_plus_weight = true;
  shape.scales.logits = 0.25;
  expect_agreement(shape);
  shape.scales.logits_softcap = 1.5;
  expect_agreement(shape);
}

TEST_F(CudaHeadTest, AnEmbeddingTimesItsFactorHasTheHostsBits) {
  planner::Job job = small_job(planner::Family::llama, planner::ComputeType::bf16);
  job.model.scales.embedding = 15.9;
  job.model.scales.embedding_rounded = true;
  const std::int64_t tokens = job.micro_tokens(), elements = tokens * job.model.hidden;
  RandomValues random(13);
  const std::vector<std::int32_t> ids = random.below(tokens, static_cast<int>(job.model.vocab));
  const Halves high = weights(job, 0), d = random.halves(elements, 0.01F);
  const HostTemplates host(job);
  Halves expected(static_cast<std::size_t>(elements));
  std::vector<float> gradient(high.size());
  host.embed_forward({high.data()}, ids.data(), reinterpret_cast<std::byte*>(expected.data()));
  host.embed_backward(ids.data(), reinterpret_cast<const std::byte*>(d.data()), gradient.data(),
                      true);
  CudaTemplates templates(job);
  const DeviceArray<std::uint16_t> weight(high), d_out(d), out(elements);
  const DeviceArray<std::int32_t> id(ids);
  const DeviceArray<float> d_weight(static_cast<std::int64_t>(high.size()));
  templates.embed_forward(stream_, weight.data(), id.data(), tokens,
                          reinterpret_cast<std::byte*>(out.data()));
  templates.embed_backward(stream_, id.data(), reinterpret_cast<const std::byte*>(d_out.data()),
                           d_weight.data(), cuda::Into::overwrite);
  finish();
  EXPECT_EQ(out.values(), expected);
  EXPECT_EQ(d_weight.values(), gradient);
}

}  // namespace
}  // namespace sluice::engine
