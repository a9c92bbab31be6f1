#include "tests/engine/cuda/layers/block_agreement.hpp"

#include <cstdio>

#include "planner/models/unit_classes.hpp"
#include "tests/engine/cuda/layers/templates_run.hpp"

namespace sluice::engine {
namespace {

/// Documents of 30, 1 and 97 tokens in the first sequence; the second is one.
std::vector<std::int32_t> marked_tokens(const planner::Job& job) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(job.micro_tokens()), 5);
  for (const std::size_t start : {0, 30, 31, 128}) ids[start] = ~ids[start];
  return ids;
}

/// One block, and what both backends read.
struct Operands {
  Operands(const planner::Job& of, std::size_t number) : job(of), unit(number) {
    const std::int64_t elements = job.micro_tokens() * job.model.hidden;
    RandomValues random(3);
    x = random.halves(elements);
    weights = test_weights(job, unit);
    d = random.halves(elements, 0.01F);
    make_choices_plain(planner::uniform_job(job, unit), weights, x);
    tokens = marked_tokens(job);
  }
  [[nodiscard]] std::int64_t layer() const { return static_cast<std::int64_t>(unit) - 1; }
  [[nodiscard]] bool documents() const { return job.attention == planner::AttentionSpan::document; }

  planner::Job job;
  std::size_t unit;
  Halves x, weights, d;
  std::vector<std::int32_t> tokens;
};

struct Results {
  std::vector<double> next, stream_gradient;
  std::vector<float> gradient;
};

/// Results that the host computes in fp32 from the same values.
Results on_host(const Operands& of) {
  planner::Job job = of.job;
  job.compute = planner::ComputeType::fp32;
  const HostTemplates templates(job);
  const planner::BlockRecord layout = planner::block_record(job);
  const Halves low(of.weights.size());
  std::vector<std::byte> record(static_cast<std::size_t>(layout.all_bytes.count()));
  HostScratch scratch(job);
  const Workspace workspace = scratch.workspace();
  auto* input = reinterpret_cast<float*>(record.data());
  for (std::size_t i = 0; i < of.x.size(); ++i) input[i] = value_of(of.x[i]);
  std::vector<float> next(of.x.size()), stream_gradient, gradient(of.weights.size());
  for (const std::uint16_t value : of.d) stream_gradient.push_back(value_of(value));
  const RecordView view{.record = record.data(),
                        .full = nullptr,
                        .kept = layout.all_bytes,
                        .layer = of.layer(),
                        .documents = of.documents() ? of.tokens.data() : nullptr};
  const Weights weights{of.weights.data(), low.data()};
  templates.block_forward(weights, view, reinterpret_cast<std::byte*>(next.data()), workspace);
  templates.block_backward(weights, gradient.data(), true, view,
                           reinterpret_cast<std::byte*>(stream_gradient.data()), workspace);
  return {doubles(next), doubles(stream_gradient), gradient};
}

/// Results of the device, whose record keeps what `keep` says.
Results on_device(cudaStream_t stream, CudaTemplates& templates, const Operands& of,
                  planner::Keep keep) {
  const planner::BlockRecord layout = planner::block_record(of.job);
  const DeviceArray<std::int32_t> tokens(of.tokens);
  const DeviceArray<std::uint16_t> weight(of.weights), input(of.x), stream_gradient(of.d);
  const DeviceArray<std::byte> workspace(planner::cuda_workspace(of.job).total.count());
  const DeviceArray<std::byte> record(layout.all_bytes.count()), full(layout.all_bytes.count());
  const DeviceArray<std::uint16_t> next(static_cast<std::int64_t>(of.x.size()));
  const DeviceArray<float> gradient(static_cast<std::int64_t>(of.weights.size()));
  const CudaRecord view{.input = reinterpret_cast<std::byte*>(input.data()),
                        .record = record.data(),
                        .full = full.data(),
                        .kept = layout.kept(keep),
                        .documents = of.documents() ? tokens.data() : nullptr,
                        .layer = of.layer()};
  templates.block_forward(stream, weight.data(), view, reinterpret_cast<std::byte*>(next.data()),
                          workspace.data());
  if (keep != planner::Keep::all) {
    const auto rebuilt = static_cast<std::size_t>((layout.all_bytes - layout.kept(keep)).count());
    cuda::testing::succeed(cudaMemsetAsync(full.data(), 0xff, rebuilt, stream), "memset");
    templates.block_recompute(stream, weight.data(), view, keep, workspace.data());
  }
  templates.block_backward(stream, weight.data(), gradient.data(), cuda::Into::overwrite, view,
                           reinterpret_cast<std::byte*>(stream_gradient.data()), workspace.data());
  cuda::testing::succeed(cudaStreamSynchronize(stream), "a kernel failed");
  EXPECT_TRUE(record.intact() && full.intact() && next.intact() && gradient.intact() &&
              workspace.intact() && stream_gradient.intact());
  return {doubles(next.values()), doubles(stream_gradient.values()), gradient.values()};
}

// One rounding to bf16 is at most 2^-9 relative; a block rounds about ten times between input and
// output, and as often on the way back.
constexpr double kOutputTolerance = 0.01, kGradientTolerance = 0.015;

void expect_gradients_agree(const Operands& of, const Results& actual, const Results& expected) {
  double worst = 0;
  std::string where;
  const planner::UnitTensors unit = planner::unit_tensors(of.job.model, of.unit);
  double written = 0;
  for (const planner::TensorSpec& tensor : unit.tensors) {
    const auto slice = [&](const std::vector<float>& all) {
      return doubles(std::vector<float>(all.begin() + tensor.offset,
                                        all.begin() + tensor.offset + tensor.size()));
    };
    for (const double value : slice(actual.gradient)) written += value * value;
    if (tensor.frozen) {
      EXPECT_EQ(slice(actual.gradient), slice(expected.gradient)) << tensor.name;
      continue;
    }
    // A key bias moves all scores of a query equally, so its gradient is nothing but rounding.
    if (tensor.name.ends_with("k_proj.bias")) continue;
    const double error = relative_error(slice(actual.gradient), slice(expected.gradient));
    ::testing::Test::RecordProperty(tensor.name, std::to_string(error));
    EXPECT_LT(error, kGradientTolerance) << tensor.name;
    if (!(error <= worst)) {
      worst = error;
      where = tensor.name;
    }
  }
  std::printf("  worst gradient %.4f of %s\n", worst, where.c_str());
  double all = 0;
  for (const float value : actual.gradient) all += double(value) * value;
  EXPECT_NEAR(all, written, 1e-9 * written) << "padding is zero";
}

}  // namespace

void expect_block_agrees(cudaStream_t stream, const planner::Job& job, std::size_t unit) {
  const Operands operands(job, unit);
  const Results expected = on_host(operands);
  CudaTemplates templates(job);
  const Results whole = on_device(stream, templates, operands, planner::Keep::all);
  const double next = relative_error(whole.next, expected.next);
  const double stream_gradient = relative_error(whole.stream_gradient, expected.stream_gradient);
  std::printf("  output %.4f, gradient of the input %.4f\n", next, stream_gradient);
  EXPECT_LT(next, kOutputTolerance);
  EXPECT_LT(stream_gradient, kGradientTolerance);
  expect_gradients_agree(operands, whole, expected);
  for (const planner::Keep keep : {planner::Keep::selective, planner::Keep::input}) {
    const Results part = on_device(stream, templates, operands, keep);
    EXPECT_EQ(part.next, whole.next) << to_string(keep);
    EXPECT_EQ(part.stream_gradient, whole.stream_gradient) << to_string(keep);
    EXPECT_EQ(part.gradient, whole.gradient) << to_string(keep);
  }
}

}  // namespace sluice::engine
