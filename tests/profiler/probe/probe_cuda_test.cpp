// The probe's loads on a real GPU; skipped, with the reason, where there is none.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "engine/cuda/backend/gemm_tuner.hpp"
#include "engine/cuda/runtime/device_query.hpp"
#include "engine/cuda/runtime/usable.hpp"
#include "planner/catalogue/catalogue.hpp"
#include "planner/catalogue/gpu_name.hpp"
#include "planner/costs/cost_key.hpp"
#include "planner/costs/cost_model.hpp"
#include "planner/costs/probed_passes.hpp"
#include "profiler/probe/cuda/block_passes.hpp"
#include "profiler/probe/cuda/kernel_timer.hpp"
#include "profiler/probe/cuda/layer_bench.hpp"
#include "profiler/probe/cuda/link_bench.hpp"
#include "profiler/probe/cuda/steady_load.hpp"
#include "profiler/probe/curves.hpp"
#include "profiler/probe/sampling.hpp"

namespace sluice::profiler {
namespace {

class ProbeOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = engine::cuda::why_unusable(engine::cuda::query_devices())) {
      GTEST_SKIP() << *reason;
    }
  }
};

TEST_F(ProbeOnGpu, CopiesOfEverySizeHaveARate) {
  LinkBench link(64_MiB);
  EXPECT_FALSE(link.refusal());
  for (const CopyDirection direction : {CopyDirection::h2d, CopyDirection::d2h}) {
    const auto rates = link.by_size(direction, Seconds(0.01));
    ASSERT_EQ(rates.size(), 8u);  // 4 KiB to 64 MiB by fours
    EXPECT_EQ(rates.back().size, 64 << 20);
    for (const SizedRate& rate : rates) {
      EXPECT_GT(rate.rate.value, 0);
      EXPECT_GE(rate.rate.count, 3);
    }
    EXPECT_GT(rates.back().rate.value, rates.front().rate.value);
  }
}

TEST_F(ProbeOnGpu, BetweenCopiesLieMicroseconds) {
  LinkBench link(64_MiB);
  for (const CopyDirection direction : {CopyDirection::h2d, CopyDirection::d2h}) {
    const planner::MeasuredTime gap = link.gap(direction);
    EXPECT_GT(gap.value, Seconds(0));
    EXPECT_LT(gap.value,
              Seconds(100e-6));  // 4 MiB take 80 us at the least: a CPU that is late shows.
    EXPECT_EQ(gap.count, 255);
  }
}

TEST_F(ProbeOnGpu, SteadyCopiesGoOnUntilStopped) {
  LinkBench link(64_MiB);
  const auto load = link.steady(CopyDirection::d2h);
  const Seconds from = read(Timer::wall);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const Seconds to = read(Timer::wall);
  load->stop();
  EXPECT_GT(load->repetitions_per_second(from, to), 0);
  EXPECT_EQ(load->repetitions_per_second(to + Seconds(100), to + Seconds(200)), 0);
}

TEST_F(ProbeOnGpu, AnErrorOfALoadIsThrownByStop) {
  SteadyLoad load([](cudaStream_t, std::int64_t repetition) {
    if (repetition == 3) throw std::runtime_error("repetition three");
  });
  std::this_thread::sleep_for(
      std::chrono::milliseconds(500));  // Repetition three comes within these.
  EXPECT_THROW(load.stop(), std::runtime_error);
}

TEST_F(ProbeOnGpu, ARowOfKernelsTakesLongerThanOne) {
  KernelTimer timer;
  const DeviceMemory memory = allocate_device(256_MiB);
  const auto fill = [&](cudaStream_t stream) {
    cudaMemsetAsync(memory.get(), 1, std::size_t{256} << 20, stream);
  };
  const Samples samples = timer.samples(fill, Seconds(0.02));
  ASSERT_GE(samples.size(), 3u);
  for (const double seconds : samples) {
    EXPECT_GT(seconds, 256e6 / 100e12);  // no memory writes 100 TB/s
    EXPECT_LT(seconds, 1);
  }
}

TEST_F(ProbeOnGpu, LayersHaveRatesAndLaunchesACost) {
  for (const planner::Fact& rate : measure_memory_kernels(Seconds(0.02))) {
    EXPECT_GT(rate.value, 10e9);
    EXPECT_LT(rate.value, 100e12);
  }
  EXPECT_GT(measure_device_update(Seconds(0.02)).value, 1e8);
  const LaunchCosts costs = measure_launches(Seconds(0.05));
  EXPECT_GT(costs.launch.value, Seconds(0));
  EXPECT_GT(costs.kernel.value, Seconds(0));
  EXPECT_LT(costs.kernel.value, Seconds(1e-3));
  EXPECT_GT(costs.event.value, Seconds(0));
}

TEST_F(ProbeOnGpu, AttentionOfEveryShapeHasARate) {
  const AttentionRates rates = measure_attention(Seconds(0.02), BytesPerSecond(1e12));
  ASSERT_FALSE(rates.forward.empty());
  EXPECT_EQ(rates.forward.size(), rates.backward.size());
  for (const planner::Fact& rate : rates.forward) EXPECT_GT(rate.value, 1e12);
  ASSERT_GE(rates.points.size(), rates.forward.size());
  const auto order = [](const planner::AttentionPoint& point) {
    return std::pair(point.head_dim, point.length);
  };
  EXPECT_TRUE(std::ranges::is_sorted(rates.points, {}, order));
  for (const planner::AttentionPoint& point : rates.points) {
    EXPECT_GT(point.forward.value, FlopsPerSecond(1e12));
    EXPECT_GT(point.backward.value, FlopsPerSecond(1e12));
  }
}

/// The catalogue's profile of this computer's GPU; none where the catalogue does not know it.
std::optional<planner::MachineProfile> profile_of_this_gpu() {
  const std::string gpu = engine::cuda::query_devices().devices.front().name;
  std::optional<planner::MachineProfile> profile;
  std::size_t longest = 0;
  for (const auto& machine : planner::catalogue_machines()) {
    if (machine.name.size() <= longest || !planner::names_gpu(machine.name, gpu)) continue;
    longest = machine.name.size();
    profile = planner::find_machine(machine.name);
  }
  return profile;
}

TEST_F(ProbeOnGpu, PassesOfABlockTakeAboutWhatTheCatalogueSays) {
  const std::vector<planner::Job> jobs = {
      probed_jobs(ProbeDepth::quick, device_room().free).jobs.front()};
  const engine::GemmTable table = engine::estimated_gemm_table(jobs);
  const BlockBudget budget{
      .rounds = 1, .settle = Seconds(0.5), .warm = Seconds(0.05), .visit = Seconds(0.05)};
  const std::vector<JobPasses> measured = measure_block_passes(jobs, table, budget, "test");
  ASSERT_EQ(measured.size(), 1u);
  ASSERT_TRUE(measured.front().refused.empty()) << measured.front().refused;
  std::map<planner::Pass, Seconds> times;
  for (const planner::MeasuredPass& pass : measured.front().passes) {
    EXPECT_GT(pass.time, Seconds(0)) << pass.key;
    EXPECT_GE(pass.deviation, Seconds(0)) << pass.key;
    EXPECT_LT(pass.deviation, pass.time) << pass.key;
    EXPECT_GE(pass.count, 1) << pass.key;
    const auto named = planner::probed_pass(planner::CostKey{pass.key});
    if (named) times[named->pass] = pass.time;
  }
  using planner::Pass;
  // Gradients take two products where the forward pass takes one; recomputation leaves out some.
  EXPECT_GT(times.at(Pass::block_backward), 1.2 * times.at(Pass::block_forward));
  EXPECT_LT(times.at(Pass::block_recompute_input), times.at(Pass::block_forward));
  EXPECT_LT(times.at(Pass::block_recompute_selective), times.at(Pass::block_recompute_input));
  const auto profile = profile_of_this_gpu();
  if (!profile) GTEST_SKIP() << "the catalogue has no times of this GPU to compare with";
  const planner::ProfileCostModel costs(*profile, {});
  const planner::Job& job = jobs.front();
  for (const auto& [pass, unit] : {std::pair{Pass::block_forward, std::size_t{1}},
                                   std::pair{Pass::block_recompute_input, std::size_t{1}},
                                   std::pair{Pass::block_backward, std::size_t{1}},
                                   std::pair{Pass::loss, unit_count(job.model) - 1}}) {
    const double said =
        costs.compute(compute_key(job, pass, unit), work_of(job, pass, unit)).amount.count();
    EXPECT_GT(times.at(pass).count(), said / 3) << compute_key(job, pass, unit).name();
    EXPECT_LT(times.at(pass).count(), said * 3) << compute_key(job, pass, unit).name();
  }
}

TEST(TimesOfPasses, AFirstMicroBatchCountsAsOneOfFour) {
  SamplesByKey samples;
  samples["a"] = {.first = {2, 2, 2}, .later = {1, 1, 1}};
  samples["b"] = {.first = {}, .later = {3, 4, 5}};
  const std::vector<planner::MeasuredPass> passes = passes_of(samples, "note");
  ASSERT_EQ(passes.size(), 2u);
  EXPECT_DOUBLE_EQ(passes[0].time.count(), 1.25);
  EXPECT_EQ(passes[0].count, 6);
  EXPECT_DOUBLE_EQ(passes[1].time.count(), 4);
  EXPECT_EQ(passes[1].note, "note");
}

TEST_F(ProbeOnGpu, StagedCopiesHaveARate) {
  const planner::Bandwidth rate = staged_copy_rate(64_MiB, Seconds(0.05));
  EXPECT_GT(rate.value, BytesPerSecond(1e8));
  EXPECT_GE(rate.count, 6);
}

}  // namespace
}  // namespace sluice::profiler
