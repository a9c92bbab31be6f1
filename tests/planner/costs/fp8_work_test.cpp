#include "planner/costs/fp8_work.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "planner/costs/cost_key.hpp"
#include "planner/costs/cost_model.hpp"
#include "planner/machines/profile_file.hpp"
#include "tests/planner/refusal.hpp"
#include "tests/planner/round_machine.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

/// Ten blocks of widths of 256, with 1024 tokens a micro-batch.
Job wide_job(ComputeType compute) {
  Job job = test::tiny_job();
  job.compute = compute;
  job.model.layers = 10;
  job.model.hidden = job.model.intermediate = 256;
  job.model.heads = job.model.kv_heads = 4;
  job.model.head_dim = 64;
  job.seq_len = 1024;
  job.micro_batch = 1;
  job.batch_size = 4;
  return job;
}

TEST(Fp8Work, AllBlocksButTheFirstAndTheLastComputeInFp8) {
  const Job job = wide_job(ComputeType::fp8);
  EXPECT_FALSE(job.computes_in_fp8(0));
  EXPECT_TRUE(job.computes_in_fp8(1));
  EXPECT_TRUE(job.computes_in_fp8(8));
  EXPECT_FALSE(job.computes_in_fp8(9));
  EXPECT_EQ(job.fp8_share(), 0.8);
  EXPECT_EQ(wide_job(ComputeType::bf16).fp8_share(), 0);
}

TEST(Fp8Work, IsThatOfBf16AndTheQuantizingOfOperands) {
  const Job fp8 = wide_job(ComputeType::fp8), bf16 = wide_job(ComputeType::bf16);
  const auto more = [&](Pass pass) {
    const Work a = work_of(fp8, pass, 1), b = work_of(bf16, pass, 1);
    EXPECT_EQ(a.flops().count(), b.flops().count());
    for (const Gemm& g : a.gemms) EXPECT_EQ(g.fp8, 0.8);
    for (const Gemm& g : b.gemms) EXPECT_EQ(g.fp8, 0);
    return (a.streamed - b.streamed).count();
  };
  // Per token the inputs of qkv, o, gate and up, and down are 256 wide each, their results 768,
  // 256, 512 and 256; weights are the products.
  const std::int64_t tokens = 1024, in = 4 * 256, out = 768 + 256 + 512 + 256;
  const std::int64_t weights = 256 * out;
  const auto mean = [](std::int64_t bytes) { return bytes * 8 / 10; };
  // Weights are quantized once for four micro-batches.
  EXPECT_EQ(more(Pass::block_forward), mean(tokens * (3 * in - 256) + 3 * weights / 4));
  // The gradients of gate and up and the activation are never stored in bf16.
  EXPECT_EQ(more(Pass::block_backward),
            mean(tokens * (3 * in + 4 * out - 4 * (512 + 256)) + 3 * weights / 4));
  EXPECT_EQ(more(Pass::block_recompute_selective),
            mean(tokens * 3 * 2 * 256 + 3 * 256 * (256 + 512) / 4));
  EXPECT_EQ(work_of(fp8, Pass::loss, 11).streamed, work_of(bf16, Pass::loss, 11).streamed);
}

TEST(Fp8Work, ProductsTakeTheStatedShareOfTheirTimeOnAGpuAlone) {
  const Job fp8 = wide_job(ComputeType::fp8), bf16 = wide_job(ComputeType::bf16);
  for (const DeviceKind device : {DeviceKind::cuda, DeviceKind::host}) {
    const MachineProfile profile = test::round_profile(device);
    const ProfileCostModel costs(profile, {});
    const auto products = [&](const Job& job) {
      Work work = work_of(job, Pass::block_forward, 1);
      work.streamed = Bytes(0);
      work.kernels = 0;
      work.attention.clear();
      return costs.compute(compute_key(job, Pass::block_forward, 1), work).amount.count();
    };
    const double share = device == DeviceKind::cuda ? 0.2 + 0.8 / kFp8Speedup : 1;
    EXPECT_NEAR(products(fp8), share * products(bf16), 1e-9 * products(bf16));
  }
}

TEST(Fp8Work, AProfilesOwnSpeedupsGoBeforeTheRule) {
  MachineProfile profile = test::round_profile(DeviceKind::cuda);
  profile.architecture = "sm_90";
  const Gemm product{.m = 256, .n = 256, .k = 256, .fp8 = 1};
  Gemm gradient = product;
  gradient.result_bytes = 4;
  EXPECT_EQ(fp8_speedup(profile, product).value, kFp8Speedup);
  EXPECT_EQ(fp8_speedup(profile, gradient).value, kFp8GradientSpeedup);
  const std::string before = profile_hash(profile);
  profile.fp8_speedup = {
      .value = 1.9, .deviation = 0.1, .count = 1, .source = Source::measured, .note = {}};
  EXPECT_EQ(fp8_speedup(profile, product).value, 1.9);
  EXPECT_EQ(fp8_speedup(profile, gradient).value, kFp8GradientSpeedup);
  profile.fp8_gradient_speedup.value = 1.2;
  EXPECT_EQ(fp8_speedup(profile, gradient).value, 1.2);
  EXPECT_NE(profile_hash(profile), before);
  EXPECT_REFUSED(set_fact(profile, "fp8_speedup", "1000"), "machine.fp8_speedup");
  profile.fp8_speedup.value = 0;
  EXPECT_REFUSED(set_fact(profile, "fp8_speedup", "1.9x"), "does not state");
  set_fact(profile, "fp8_speedup", "1.9");
  const auto read = profile_from_json(to_json_text(profile), "profile");
  EXPECT_EQ(read.fp8_speedup.value, 1.9);
  EXPECT_EQ(profile_hash(read), profile_hash(profile));
}

TEST(Fp8Jobs, HaveAHashAndCostsOfTheirOwn) {
  const Job fp8 = wide_job(ComputeType::fp8), bf16 = wide_job(ComputeType::bf16);
  EXPECT_NE(job_hash(fp8), job_hash(bf16));
  EXPECT_NE(compute_key(fp8, Pass::block_forward, 1), compute_key(bf16, Pass::block_forward, 1));
}

TEST(Fp8Jobs, ThatAreNotComputedAreRefusedByName) {
  const auto refused = [](const std::function<void(Job&)>& change) {
    Job job = wide_job(ComputeType::fp8);
    change(job);
    return refusal([&] { validate(job); });
  };
  EXPECT_NO_THROW(validate(wide_job(ComputeType::fp8)));
  EXPECT_EQ(refused([](Job& job) { job.model.hidden = 192; }),
            "compute: fp8 needs the model's hidden size (192) to be a multiple of 128; set compute "
            "to bf16");
  EXPECT_EQ(refused([](Job& job) { job.model.kv_heads = 1; }),
            "compute: fp8 needs the width of all keys (64) to be a multiple of 128; set compute to "
            "bf16");
  EXPECT_EQ(refused([](Job& job) { job.seq_len = 1000; }),
            "compute: fp8 needs seq_len x micro_batch (1000) to be a multiple of 128; set compute "
            "to bf16");
  EXPECT_EQ(refused([](Job& job) { job.mlp_chunk = 100; }),
            "compute: fp8 needs mlp_chunk (100) to be a multiple of 128; set compute to bf16");
  EXPECT_EQ(refused([](Job& job) {
              job.model.experts = Experts{.count = 4, .active = 2, .intermediate = 128};
            }),
            "compute: fp8 is not computed for models with experts; set compute to bf16");
}

TEST(Fp8Jobs, NeedAGpuWithBlockScaledProducts) {
  const Job job = wide_job(ComputeType::fp8);
  MachineProfile profile = test::round_profile(DeviceKind::cuda);
  profile.name = "a100";
  profile.architecture = "sm_80";
  EXPECT_EQ(refusal([&] { require_fp8_products(job, profile); }),
            "compute: fp8 needs a GPU with block-scaled FP8 products (sm_90), and a100 is sm_80: "
            "set compute to bf16");
  EXPECT_NO_THROW(require_fp8_products(wide_job(ComputeType::bf16), profile));
  profile.architecture = "sm_90";
  EXPECT_NO_THROW(require_fp8_products(job, profile));
  profile.architecture = "sm_89";
  profile.name = "l40s";
  EXPECT_EQ(refusal([&] { require_fp8_products(job, profile); }),
            "compute: fp8 needs a GPU with block-scaled FP8 products (sm_90), and l40s is sm_89: "
            "set compute to fp8-tensorwise or bf16");
}

TEST(Fp8Jobs, WithOneScaleAnOperandNeedAGpuWithFp8Products) {
  const Job job = wide_job(ComputeType::fp8_tensorwise);
  MachineProfile profile = test::round_profile(DeviceKind::cuda);
  for (const char* const name : {"sm_89", "sm_90", "sm_100", "sm_120"}) {
    profile.architecture = name;
    EXPECT_NO_THROW(require_fp8_products(job, profile)) << name;
  }
  profile.name = "a100";
  profile.architecture = "sm_80";
  EXPECT_EQ(refusal([&] { require_fp8_products(job, profile); }),
            "compute: fp8-tensorwise needs a GPU with FP8 products (sm_89 or newer), and a100 is "
            "sm_80: set compute to bf16");
  const MachineProfile host = test::round_profile(DeviceKind::host);
  EXPECT_NO_THROW(require_fp8_products(wide_job(ComputeType::fp8), host));
  EXPECT_EQ(refusal([&] { require_fp8_products(job, host); }),
            "compute: fp8-tensorwise is computed by GPUs alone, and round is none: name a machine "
            "with a GPU, or set compute to fp8 or bf16");
}

TEST(Fp8Work, OneScaleAnOperandTakesAReadOfIt) {
  const Job blocks = wide_job(ComputeType::fp8), whole = wide_job(ComputeType::fp8_tensorwise);
  const auto more = [&](Pass pass) {
    const Work a = work_of(whole, pass, 1), b = work_of(blocks, pass, 1);
    for (const Gemm& g : a.gemms) EXPECT_TRUE(g.tensorwise && g.fp8 == 0.8);
    return (a.streamed - b.streamed).count();
  };
  const std::int64_t tokens = 1024, in = 4 * 256, out = 768 + 256 + 512 + 256;
  const std::int64_t weights = 256 * out;
  const auto mean = [](std::int64_t bytes) { return bytes * 8 / 10; };
  EXPECT_NEAR(more(Pass::block_forward), mean(tokens * (2 * in + 2 * 256) + 2 * weights / 4), 1);
  EXPECT_NEAR(more(Pass::block_backward), mean(tokens * (2 * in + 2 * out) + 2 * weights / 4), 1);
  // A profile's measured speed-ups are those of block-scaled operands where its GPU has them.
  MachineProfile profile = test::round_profile(DeviceKind::cuda);
  profile.fp8_speedup.value = 1.9;
  const Gemm product{.m = 256, .n = 256, .k = 256, .fp8 = 1, .tensorwise = true};
  profile.architecture = "sm_90";
  EXPECT_EQ(fp8_speedup(profile, product).value, kTensorwiseSpeedup);
  profile.architecture = "sm_89";
  EXPECT_EQ(fp8_speedup(profile, product).value, 1.9);
}

}  // namespace
}  // namespace sluice::planner
