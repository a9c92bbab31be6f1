// The cuda backend's layer templates against the host backend's fp32 ones, on the same bf16 weights
// and inputs: errors are those of rounding to bf16, and recomputed records and repeated runs have
// the same bits.
#include "engine/cuda/templates.hpp"
#include "engine/host/templates.hpp"
#include "engine/init.hpp"
#include "tests/engine/cuda/kernel_test.hpp"

namespace sluice::engine {
namespace {

using cuda::testing::DeviceArray;
using cuda::testing::Halves;
using cuda::testing::RandomValues;
using cuda::testing::to_bf16;
using cuda::testing::value_of;

planner::Job small_job(planner::Family family, planner::ComputeType compute) {
  planner::Job job;
  planner::ModelShape& shape = job.model;
  shape.family = family;
  shape.layers = 1;
  shape.hidden = 256;
  shape.intermediate = 704;
  shape.heads = 4;
  shape.kv_heads = 2;
  shape.head_dim = 64;
  shape.vocab = 1024;
  shape.qkv_bias = family == planner::Family::qwen2;
  shape.qk_norm = family == planner::Family::qwen3 || family == planner::Family::qwen3_moe;
  shape.init_std = 0.05;
  if (family == planner::Family::qwen3_moe || family == planner::Family::mixtral) {
    shape.experts = planner::Experts{.count = 8, .active = 2, .intermediate = 352};
    shape.experts->normalized = family == planner::Family::mixtral;
  }
  job.seq_len = 128;
  job.batch_size = 2;
  job.micro_batch = 2;
  job.loss_chunk = 96;
  job.compute = compute;
  return job;
}

double relative_error(const std::vector<double>& actual, const std::vector<double>& expected) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    difference += (actual[i] - expected[i]) * (actual[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  return std::sqrt(difference / size);
}

template <class T>
std::vector<double> doubles(const std::vector<T>& values) {
  std::vector<double> result;
  for (const T value : values)
    result.push_back(static_cast<double>(cuda::testing::value_of(value)));
  return result;
}

class CudaTemplatesTest : public cuda::testing::KernelTest,
                          public ::testing::WithParamInterface<planner::Family> {
 protected:
  /// bf16 weights of a unit; the low halves are zero, so fp32 computes with the same values.
  Halves weights(const planner::Job& job, std::size_t unit) {
    const auto padded =
        static_cast<std::size_t>(planner::unit_tensors(job.model, unit).padded_size);
    Halves high(padded), low(padded);
    initialize_unit(job.model, unit, 7, high.data(), low.data());
    for (const planner::TensorSpec& tensor : planner::unit_tensors(job.model, unit).tensors) {
      if (tensor.rows != 1) continue;
      RandomValues random(static_cast<unsigned>(tensor.offset) + 5);
      const bool bias = tensor.name.ends_with("bias");
      const Halves values = random.halves(tensor.size(), 0.1F, bias ? 0.0F : 1.0F);
      std::copy(values.begin(), values.end(), high.begin() + tensor.offset);
    }
    return high;
  }
  /// Forward, recomputation and backward of a block against the host.
  void expect_agreement(planner::AttentionSpan span, std::int64_t mlp_chunk = planner::kMlpChunk);
};

/// Of a mixture of experts: each expert's logit is the sum of one in eight elements, and two of
/// these sums stand out in every token, so that no rounding changes a choice.
void make_choices_plain(const planner::Job& job, Halves& weights, Halves& x) {
  if (!job.model.experts) return;
  const std::int64_t hidden = job.model.hidden, experts = job.model.experts->count;
  const Slot router = block_slots(job.model).experts.router;
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    for (std::int64_t c = 0; c < hidden; ++c) {
      weights[static_cast<std::size_t>(router.offset + expert * hidden + c)] =
          to_bf16(c % experts == expert ? 0.03F : 0.0F);
    }
  }
  for (std::int64_t t = 0; t < job.micro_tokens(); ++t) {
    for (std::int64_t c = 0; c < hidden; ++c) {
      std::uint16_t& value = x[static_cast<std::size_t>(t * hidden + c)];
      if (c % experts == t % experts) value = to_bf16(value_of(value) + 4);
      if (c % experts == (3 * t + 1) % experts) value = to_bf16(value_of(value) + 2);
    }
  }
}

/// Documents of 30, 1 and 97 tokens in the first sequence; the second is one.
std::vector<std::int32_t> marked_tokens(const planner::Job& job) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(job.micro_tokens()), 5);
  for (const std::size_t start : {0, 30, 31, 128}) ids[start] = ~ids[start];
  return ids;
}

/// What the host computes in fp32 on the same values.
struct Expected {
  std::vector<float> next, stream_gradient, gradient;
};

Expected host_block(const planner::Job& job, const Halves& high, const Halves& x, const Halves& d) {
  const HostTemplates templates(job);
  const planner::BlockRecord layout = planner::block_record(job);
  const Halves low(high.size());
  std::vector<std::byte> record(static_cast<std::size_t>(layout.all_bytes.count()));
  std::vector<std::byte> scratch(static_cast<std::size_t>(planner::workspace_bytes(job).count()) +
                                 64);
  auto* aligned = reinterpret_cast<std::byte*>(
      (reinterpret_cast<std::uintptr_t>(scratch.data()) + 63) / 64 * 64);
  const Workspace workspace{aligned, planner::workspace_bytes(job)};
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

void CudaTemplatesTest::expect_agreement(planner::AttentionSpan span, std::int64_t mlp_chunk) {
  planner::Job job = small_job(GetParam(), planner::ComputeType::bf16);
  planner::Job on_host = small_job(GetParam(), planner::ComputeType::fp32);
  job.attention = on_host.attention = span;
  job.mlp_chunk = mlp_chunk;
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
      // A key bias moves every score of a query alike: its gradient is nothing but rounding.
      if (tensor.name.ends_with("k_proj.bias")) continue;
      const double error = relative_error(slice(gradient.values()), slice(expected.gradient));
      RecordProperty(tensor.name, std::to_string(error));
      // The router's is made of differences between experts' outputs.
      const bool router = tensor.name.ends_with(planner::expert_names(GetParam()).router);
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
  // Of 256 tokens: 96, 96 and 64.
  expect_agreement(planner::AttentionSpan::sequence, 96);
}

TEST_P(CudaTemplatesTest, ABlockOfDocumentsAgreesWithTheHost) {
  expect_agreement(planner::AttentionSpan::document);
}

/// A sequence in parts, one of them a single token, is computed as the whole.
TEST_P(CudaTemplatesTest, PartsOfASequenceAgreeWithTheWhole) {
  planner::Job whole = small_job(GetParam(), planner::ComputeType::bf16);
  whole.batch_size = whole.micro_batch = 1;
  planner::Job parts = whole;
  parts.sequence_chunk = 64;
  const std::int64_t hidden = whole.model.hidden, elements = whole.seq_len * hidden;
  RandomValues random(3);
  Halves x = random.halves(elements), high = weights(whole, 1);
  make_choices_plain(whole, high, x);
  const DeviceArray<std::uint16_t> weight(high), input(x), next(elements);
  {
    CudaTemplates templates(whole);
    const planner::BlockRecord layout = planner::block_record(whole);
    const DeviceArray<std::byte> record(layout.all_bytes.count());
    const DeviceArray<std::byte> workspace(planner::cuda_workspace(whole).total.count());
    templates.block_forward(stream_, weight.data(),
                            {.input = reinterpret_cast<std::byte*>(input.data()),
                             .record = record.data(),
                             .full = nullptr,
                             .kept = layout.all_bytes},
                            reinterpret_cast<std::byte*>(next.data()), workspace.data());
    finish();
  }
  CudaTemplates templates(parts);
  const planner::BlockRecord layout = planner::block_record(parts);
  const DeviceArray<std::byte> full((layout.all_bytes - layout.input_bytes).count());
  const DeviceArray<std::byte> workspace(planner::cuda_workspace(parts).total.count());
  const DeviceArray<std::uint16_t> kept(2 * whole.seq_len * whole.model.kv_heads *
                                        whole.model.head_dim);
  const DeviceArray<std::uint16_t> extended(elements);
  std::int64_t first = 0;
  for (const std::int64_t count : {64, 1, 50, 13}) {
    templates.block_extend(stream_, weight.data(),
                           {.input = reinterpret_cast<std::byte*>(input.data() + first * hidden),
                            .record = nullptr,
                            .full = full.data(),
                            .kept = layout.input_bytes},
                           {kept.data(), first, count},
                           reinterpret_cast<std::byte*>(extended.data() + first * hidden),
                           workspace.data());
    first += count;
  }
  finish();
  EXPECT_TRUE(full.intact() && workspace.intact() && kept.intact() && extended.intact());
  // The same roundings, but for weights of attention, which are not rounded here.
  EXPECT_LT(relative_error(doubles(extended.values()), doubles(next.values())), 0.005);
}

TEST_F(CudaTemplatesTest, LogitsOfARowAgreeWithDouble) {
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
  // A normed value on the edge between two bf16 values may go the other way.
  cuda::testing::expect_close(logits, expected, cuda::testing::kOneRounding, 0.1, "logits");
}

INSTANTIATE_TEST_SUITE_P(Families, CudaTemplatesTest,
                         ::testing::Values(planner::Family::llama, planner::Family::qwen2,
                                           planner::Family::qwen3, planner::Family::qwen3_moe,
                                           planner::Family::mixtral));

TEST_F(CudaTemplatesTest, TheLossAndItsGradientsAgreeWithTheHost) {
  const planner::Job job = small_job(planner::Family::llama, planner::ComputeType::bf16);
  const planner::Job reference = small_job(planner::Family::llama, planner::ComputeType::fp32);
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
  std::vector<std::byte> scratch(
      static_cast<std::size_t>(planner::workspace_bytes(reference).count()) + 64);
  auto* aligned = reinterpret_cast<std::byte*>(
      (reinterpret_cast<std::uintptr_t>(scratch.data()) + 63) / 64 * 64);
  LossArguments arguments{};
  arguments.head = {high.data(), low.data()};
  arguments.input = reinterpret_cast<const std::byte*>(input.data());
  arguments.targets = targets.data();
  arguments.scale = scale;
  arguments.gradient = gradient.data();
  arguments.first = true;
  arguments.stream_gradient = reinterpret_cast<std::byte*>(stream_gradient.data());
  const double expected = host.loss(arguments, {aligned, planner::workspace_bytes(reference)});

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

}  // namespace
}  // namespace sluice::engine
