// Blocks with FP8 operands on the device against the host's with the same.
#include <array>
#include <cstdio>

#include "tests/engine/cuda/layers/templates_run.hpp"

namespace sluice::engine {
namespace {

/// A job of three blocks; the middle one has FP8 operands.
planner::Job fp8_job(planner::Family family, std::int64_t mlp_chunk = planner::kMlpChunk) {
  planner::Job job = small_job(family, planner::ComputeType::fp8);
  job.model.layers = 3;
  job.model.intermediate = 640;
  job.mlp_chunk = mlp_chunk;
  return job;
}

struct Fp8Results {
  Halves next, stream_gradient;
  std::vector<float> gradient;
  friend bool operator==(const Fp8Results&, const Fp8Results&) = default;
};

class CudaFp8Blocks : public TemplatesTest {
 protected:
  static constexpr std::int64_t kLayer = 1;
  static constexpr std::size_t kUnit = 2;

  void draw(const planner::Job& job) {
    RandomValues random(3);
    x_ = random.halves(job.micro_tokens() * job.model.hidden);
    d_ = random.halves(job.micro_tokens() * job.model.hidden, 0.01F);
    weights_ = weights(job, kUnit);
  }

  Fp8Results on_host(const planner::Job& job) {
    const HostTemplates templates(job);
    const planner::BlockRecord layout = planner::block_record(job);
    std::vector<std::byte> record(static_cast<std::size_t>(layout.all_bytes.count()));
    HostScratch scratch(job);
    std::memcpy(record.data(), x_.data(), 2 * x_.size());
    Fp8Results results{Halves(x_.size()), d_, std::vector<float>(weights_.size())};
    const RecordView view{.record = record.data(), .kept = layout.all_bytes, .layer = kLayer};
    const Weights weights{weights_.data(), nullptr};
    templates.block_forward(weights, view, reinterpret_cast<std::byte*>(results.next.data()),
                            scratch.workspace());
    templates.block_backward(weights, results.gradient.data(), true, view,
                             reinterpret_cast<std::byte*>(results.stream_gradient.data()),
                             scratch.workspace());
    return results;
  }

  Fp8Results on_device(const planner::Job& job, planner::Keep keep) {
    CudaTemplates templates(job);
    const planner::BlockRecord layout = planner::block_record(job);
    const DeviceArray<std::uint16_t> weight(weights_), input(x_), stream_gradient(d_), next(x_);
    const DeviceArray<std::byte> workspace(planner::cuda_workspace(job).total.count());
    const DeviceArray<std::byte> record(layout.all_bytes.count()), full(layout.all_bytes.count());
    const DeviceArray<float> gradient(static_cast<std::int64_t>(weights_.size()));
    const CudaRecord view{.input = reinterpret_cast<std::byte*>(input.data()),
                          .record = record.data(),
                          .full = full.data(),
                          .kept = layout.kept(keep),
                          .layer = kLayer};
    const auto bytes = [](const auto& array) { return reinterpret_cast<std::byte*>(array.data()); };
    templates.block_forward(stream_, weight.data(), view, bytes(next), workspace.data());
    if (keep != planner::Keep::all) {
      const auto rebuilt = static_cast<std::size_t>((layout.all_bytes - layout.kept(keep)).count());
      cuda::testing::succeed(cudaMemsetAsync(full.data(), 0xff, rebuilt, stream_), "memset");
      templates.block_recompute(stream_, weight.data(), view, keep, workspace.data());
    }
    templates.block_backward(stream_, weight.data(), gradient.data(), cuda::Into::overwrite, view,
                             bytes(stream_gradient), workspace.data());
    finish();
    EXPECT_TRUE(record.intact() && full.intact() && next.intact() && gradient.intact() &&
                workspace.intact() && stream_gradient.intact());
    return {next.values(), stream_gradient.values(), gradient.values()};
  }

  Halves x_, d_, weights_;
};

// Both round at the same points; where sums in another order move a bf16 operand to the other side
// of a boundary of E4M3, its number moves by up to 2^-3. That befalls one operand in about 2^5:
// 2^-3 / 2^2.5 is 2.2 %, and a gradient passes up to three such products.
TEST_F(CudaFp8Blocks, AgreeWithTheHostAndNotWithBf16) {
  for (const planner::Family family :
       {planner::Family::llama, planner::Family::qwen2, planner::Family::qwen3}) {
    for (const std::int64_t chunk : {planner::kMlpChunk, std::int64_t{128}}) {
      const planner::Job job = fp8_job(family, chunk);
      planner::Job bf16 = job;
      bf16.compute = planner::ComputeType::bf16;
      draw(job);
      const Fp8Results expected = on_host(job), plain = on_host(bf16);
      const Fp8Results actual = on_device(job, planner::Keep::all);
      const double next = relative_error(doubles(actual.next), doubles(expected.next));
      const double back =
          relative_error(doubles(actual.stream_gradient), doubles(expected.stream_gradient));
      const double weight = relative_error(doubles(actual.gradient), doubles(expected.gradient));
      const double apart = relative_error(doubles(plain.gradient), doubles(expected.gradient));
      std::printf("  output %.4f, input gradient %.4f, gradient %.4f; bf16 %.4f\n", next, back,
                  weight, apart);
      EXPECT_LT(next, 0.015);
      EXPECT_LT(back, 0.04);
      EXPECT_LT(weight, 0.04);
      EXPECT_LT(weight, apart / 2);
    }
  }
}

/// With one scale an operand, errors against bf16 are of the size that block scales have.
TEST_F(CudaFp8Blocks, OneScaleAnOperandErrsAboutAsBlockScalesDo) {
  planner::Job job = fp8_job(planner::Family::qwen2);
  planner::Job bf16 = job;
  bf16.compute = planner::ComputeType::bf16;
  draw(job);
  const Fp8Results plain = on_host(bf16), blocks = on_device(job, planner::Keep::all);
  job.compute = planner::ComputeType::fp8_tensorwise;
  const Fp8Results whole = on_device(job, planner::Keep::all);
  EXPECT_EQ(on_device(job, planner::Keep::input), whole);
  EXPECT_NE(whole, blocks);
  const auto apart = [&](const Fp8Results& fp8, const char* what) {
    const std::array<double, 3> errors = {
        relative_error(doubles(fp8.next), doubles(plain.next)),
        relative_error(doubles(fp8.stream_gradient), doubles(plain.stream_gradient)),
        relative_error(doubles(fp8.gradient), doubles(plain.gradient))};
    std::printf("  %s: output %.4f, input gradient %.4f, gradient %.4f\n", what, errors[0],
                errors[1], errors[2]);
    return errors;
  };
  const auto expected = apart(blocks, "blocks"), errors = apart(whole, "one scale");
  // E5M2 has half the precision of E4M3.
  EXPECT_LT(errors[0], 1.5 * expected[0]);
  EXPECT_LT(errors[1], 3 * expected[1]);
  EXPECT_LT(errors[2], 3 * expected[2]);
}

TEST_F(CudaFp8Blocks, RecomputedRecordsAndRepeatedRunsHaveTheSameBits) {
  const planner::Job job = fp8_job(planner::Family::qwen2);
  draw(job);
  const Fp8Results all = on_device(job, planner::Keep::all);
  for (const planner::Keep keep :
       {planner::Keep::all, planner::Keep::selective, planner::Keep::input}) {
    EXPECT_EQ(on_device(job, keep), all) << to_string(keep);
  }
}

}  // namespace
}  // namespace sluice::engine
