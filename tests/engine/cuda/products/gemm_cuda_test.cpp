// Tuned matrix products on a CUDA device: against plain loops, bit for bit between objects and
// processes, and refused if the table lacks them.
#include "engine/cuda/backend/gemm_tuner.hpp"
#include "engine/cuda/layers/templates.hpp"
#include "engine/cuda/products/gemm.hpp"
#include "tests/engine/cuda/kernel_test.hpp"
#include "tests/engine/scratch_folder.hpp"

namespace sluice::engine {
namespace {

using cuda::testing::DeviceArray;
using cuda::testing::Halves;
using cuda::testing::kOneRounding;
using cuda::testing::RandomValues;
using cuda::testing::value_of;

planner::Job product_job() {
  planner::Job job;
  planner::ModelShape& shape = job.model;
  shape.family = planner::Family::qwen2;
  shape.layers = 1;
  shape.hidden = 128;
  shape.intermediate = 352;
  shape.heads = 2;
  shape.kv_heads = 1;
  shape.head_dim = 64;
  shape.vocab = 512;
  shape.qkv_bias = true;
  job.seq_len = 96;
  job.batch_size = job.micro_batch = 2;
  job.loss_chunk = 80;
  return job;
}

/// Operands of one product and its expected result.
struct Case {
  Halves x, weight, d_y, bias, addend;
  std::vector<float> sum;        ///< Sum that a weight gradient is added to.
  std::vector<double> expected;  ///< Expected result in double.
};

Case make_case(const GemmKey& key) {
  const std::int64_t tokens = key.tokens, in = key.in, out = key.out;
  RandomValues random(static_cast<unsigned>(tokens + in * 3 + out * 5));
  Case c{random.halves(tokens * in),
         random.halves(in * out),
         random.halves(tokens * out),
         random.halves(out, 5),
         random.halves(tokens * out, 5),
         random.floats(in * out, 5),
         {}};
  const auto dot = [](std::int64_t count, auto&& left, auto&& right) {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += double{left(i)} * double{right(i)};
    return sum;
  };
  const auto x = [&](std::int64_t t, std::int64_t i) { return value_of(c.x[t * in + i]); };
  const auto w = [&](std::int64_t o, std::int64_t i) { return value_of(c.weight[o * in + i]); };
  const auto d = [&](std::int64_t t, std::int64_t o) { return value_of(c.d_y[t * out + o]); };
  switch (key.product) {
    case GemmProduct::forward:
      for (std::int64_t t = 0; t < tokens; ++t) {
        for (std::int64_t o = 0; o < out; ++o) {
          double sum = dot(
              in, [&](auto i) { return x(t, i); }, [&](auto i) { return w(o, i); });
          if (key.bias) sum += value_of(c.bias[o]);
          if (key.adds) sum += value_of(c.addend[t * out + o]);
          c.expected.push_back(sum);
        }
      }
      break;
    case GemmProduct::input_gradient:
      for (std::int64_t t = 0; t < tokens; ++t) {
        for (std::int64_t i = 0; i < in; ++i) {
          c.expected.push_back(dot(
              out, [&](auto o) { return d(t, o); }, [&](auto o) { return w(o, i); }));
        }
      }
      break;
    case GemmProduct::weight_gradient:
      for (std::int64_t o = 0; o < out; ++o) {
        for (std::int64_t i = 0; i < in; ++i) {
          const double sum = dot(
              tokens, [&](auto t) { return d(t, o); }, [&](auto t) { return x(t, i); });
          c.expected.push_back(sum + (key.adds ? c.sum[o * in + i] : 0));
        }
      }
      break;
  }
  return c;
}

class CudaGemmTest : public cuda::testing::KernelTest {
 protected:
  GemmTable tuned(const planner::Job& job) {
    return ensure_gemm_table(job, planner::Store(folder_.path()),
                             [this](const std::string& line) { announced_.push_back(line); });
  }

  /// The product's output as an array of bf16, or of fp32 for a weight's gradient.
  struct Output {
    Halves halves;
    std::vector<float> floats;
    friend bool operator==(const Output&, const Output&) = default;
  };
  Output run(CudaGemm& gemm, const GemmKey& key, const Case& c) {
    const DeviceArray<std::uint16_t> x(c.x), weight(c.weight), d_y(c.d_y), bias(c.bias),
        addend(c.addend);
    const CudaGemm::Size size{key.tokens, key.in, key.out};
    const DeviceArray<std::byte> workspace(planner::kGemmWorkspace.count());
    Output output;
    if (key.product == GemmProduct::weight_gradient) {
      const DeviceArray<float> sum(c.sum);
      gemm.weight_gradient(stream_, size, d_y.data(), x.data(), sum.data(), !key.adds,
                           workspace.data());
      finish();
      EXPECT_TRUE(sum.intact());
      output.floats = sum.values();
    } else {
      const DeviceArray<std::uint16_t> out(elements_of(key).d);
      if (key.product == GemmProduct::forward) {
        gemm.forward(stream_, size, x.data(), weight.data(), key.bias ? bias.data() : nullptr,
                     key.adds ? addend.data() : nullptr, out.data(), workspace.data());
      } else {
        gemm.input_gradient(stream_, size, d_y.data(), weight.data(), out.data(), workspace.data());
      }
      finish();
      EXPECT_TRUE(out.intact());
      output.halves = out.values();
    }
    EXPECT_TRUE(workspace.intact());
    return output;
  }

  static void expect_agrees(const GemmKey& key, const Output& output, const Case& c) {
    // Terms are about 1 and their sums wander; fp32 sums of n terms err by a few 2^-24 sqrt(n).
    const double magnitude =
        std::sqrt(static_cast<double>(2 * std::max({key.tokens, key.in, key.out})));
    const std::string name = to_string(key);
    if (key.product == GemmProduct::weight_gradient) {
      cuda::testing::expect_close(output.floats, c.expected, 2e-5, magnitude, name.c_str());
    } else {
      cuda::testing::expect_close(output.halves, c.expected, kOneRounding, 3e-3 * magnitude,
                                  name.c_str());
    }
  }

  test::ScratchFolder folder_;
  std::vector<std::string> announced_;
};

TEST_F(CudaGemmTest, ATunedJobsProductsAgreeWithDoubleAndRepeat) {
  const planner::Job job = product_job();
  const GemmTable table = tuned(job);
  CudaGemm one(table), other(table);
  for (const GemmKey& key : gemm_keys(job)) {
    const Case c = make_case(key);
    const Output output = run(one, key, c);
    expect_agrees(key, output, c);
    EXPECT_EQ(output, run(one, key, c)) << to_string(key);
    EXPECT_EQ(output, run(other, key, c)) << "another object, " << to_string(key);
  }
}

TEST_F(CudaGemmTest, FirstSuggestionsAgreeWithDouble) {
  CudaGemm gemm;
  for (const GemmKey& key : gemm_keys(product_job())) {
    const Case c = make_case(key);
    expect_agrees(key, run(gemm, key, c), c);
  }
}

TEST_F(CudaGemmTest, ProductsAreTunedOnceAndKept) {
  planner::Job job = product_job();
  const GemmTable table = tuned(job);
  EXPECT_EQ(table.entries().size(), gemm_keys(job).size());
  for (const auto& [key, entry] : table.entries()) {
    EXPECT_GT(entry.time.count(), 0) << to_string(key);
    EXPECT_LT(entry.suggestion, entry.suggestions) << to_string(key);
  }
  ASSERT_EQ(announced_.size(), 1U);
  EXPECT_EQ(to_json_text(tuned(job)), to_json_text(table)) << "read, not tuned again";
  EXPECT_EQ(announced_.size(), 1U);

  job.loss_chunk = 64;  // Products of these chunks are new, those of the blocks are present.
  const GemmTable more = tuned(job);
  EXPECT_EQ(announced_.size(), 2U);
  EXPECT_GT(more.entries().size(), table.entries().size());
  for (const auto& [key, entry] : table.entries()) {
    ASSERT_NE(more.find(key), nullptr) << to_string(key);
    EXPECT_EQ(more.find(key)->algorithm, entry.algorithm) << to_string(key);
  }
}

TEST_F(CudaGemmTest, AProductThatTheTableLacksIsABug) {
  CudaGemm gemm(tuned(product_job()));
  const GemmKey key{GemmProduct::input_gradient, 32, 64, 32, false, false};
  EXPECT_THROW(run(gemm, key, make_case(key)), std::logic_error);
}

TEST_F(CudaGemmTest, TheTemplatesMakeNoProductBesidesTheJobs) {
  // Every product of a whole block and of the head, first and accumulating, is in the table.
  const planner::Job job = product_job();
  CudaTemplates templates(job, tuned(job));
  const planner::BlockRecord layout = planner::block_record(job);
  const std::int64_t elements = job.micro_tokens() * job.model.hidden;
  RandomValues random(3);
  const DeviceArray<std::uint16_t> block(
      random.halves(planner::unit_tensors(job.model, 1).padded_size, 0.05F));
  const DeviceArray<std::uint16_t> head(
      random.halves(planner::unit_tensors(job.model, 2).padded_size, 0.05F));
  const DeviceArray<std::uint16_t> x(random.halves(elements)), next(elements), d_stream(elements);
  const DeviceArray<std::byte> record(layout.all_bytes.count());
  const DeviceArray<float> gradient(planner::unit_tensors(job.model, 1).padded_size);
  const DeviceArray<float> head_gradient(planner::unit_tensors(job.model, 2).padded_size);
  const DeviceArray<std::int32_t> targets(random.below(job.micro_tokens(), 512));
  const DeviceArray<double> sum(1);
  const DeviceArray<std::byte> workspace(planner::cuda_workspace(job).total.count());
  const CudaRecord view{.input = reinterpret_cast<std::byte*>(x.data()),
                        .record = record.data(),
                        .kept = layout.all_bytes};
  auto* stream_gradient = reinterpret_cast<std::byte*>(d_stream.data());
  const std::int64_t lm_head = templates.ends().lm_head.offset;
  for (const cuda::Into into : {cuda::Into::overwrite, cuda::Into::accumulate}) {
    templates.block_forward(stream_, block.data(), view, reinterpret_cast<std::byte*>(next.data()),
                            workspace.data());
    templates.loss(stream_,
                   {.head = head.data(),
                    .lm_head = head.data() + lm_head,
                    .input = reinterpret_cast<const std::byte*>(next.data()),
                    .targets = targets.data(),
                    .scale = 1e-2F,
                    .gradient = head_gradient.data(),
                    .lm_head_gradient = head_gradient.data() + lm_head,
                    .into = into,
                    .stream_gradient = stream_gradient,
                    .loss_sum = sum.data()},
                   workspace.data());
    templates.block_backward(stream_, block.data(), gradient.data(), into, view, stream_gradient,
                             workspace.data());
  }
  finish();
  EXPECT_TRUE(std::isfinite(sum.values()[0]));
}

TEST_F(CudaGemmTest, TheTablesAlgorithmsArePartOfTheNumerics) {
  const planner::Job job = product_job();
  const GemmTable table = tuned(job);
  EXPECT_NE(CudaTemplates(job, table).numerics().find(table.algorithms_hash(gemm_keys(job))),
            std::string::npos);
  EXPECT_NE(CudaTemplates(job, table).numerics(), CudaTemplates(job).numerics());
}

}  // namespace
}  // namespace sluice::engine
