#include "planner/costs/launch_delay.hpp"

#include <gtest/gtest.h>

#include "planner/catalogue/catalogue.hpp"
#include "planner/costs/cost_key.hpp"
#include "planner/costs/cost_model.hpp"
#include "planner/costs/lane_interference.hpp"
#include "tests/planner/round_machine.hpp"

namespace sluice::planner {
namespace {

const CostKey kSlowedByH2d = interference_key(LaneKind::compute, LaneKind::h2d);

Job job_of(const char* model) {
  Job job;
  job.model = find_model(model);
  job.seq_len = 1024;
  job.micro_batch = 4;
  job.batch_size = 16;
  return job;
}

MachineProfile profile_with_factor(double factor) {
  MachineProfile profile = test::round_profile(DeviceKind::cuda);
  profile.interference.push_back({LaneKind::compute, LaneKind::h2d, test::measured(factor)});
  return profile;
}

void know(Calibration& calibration, const CostKey& key, double value) {
  CalibrationSample sample;
  sample.key = key;
  sample.value = value;
  calibration[key] = sample;
}

/// A delay of 2 us beside copies to the device, and times of a micro-batch's passes.
Calibration measured_passes(const Job& job, double forward, double backward, double loss) {
  Calibration known;
  know(known, launch_delay_key(CopyDirection::h2d), 2e-6);
  know(known, compute_key(job, Pass::block_forward, 1), forward);
  know(known, compute_key(job, Pass::block_backward, 1), backward);
  know(known, compute_key(job, Pass::loss, unit_count(job.model) - 1), loss);
  return known;
}

TEST(LaunchDelay, SlowsAJobByItsKernels) {
  const Job job = job_of("qwen2.5-0.5b");
  const Calibration known = measured_passes(job, 300e-6, 700e-6, 6e-3);
  const Calibration all = with_launch_delays(job, profile_with_factor(0.98), known);
  const auto kernels = [&](Pass pass, std::size_t unit) {
    return static_cast<double>(work_of(job, pass, unit).kernels);
  };
  const double in_all = 24 * (kernels(Pass::block_forward, 1) + kernels(Pass::block_backward, 1)) +
                        kernels(Pass::loss, 25);
  const double seconds = 24 * 1e-3 + 6e-3;
  EXPECT_NEAR(all.at(kSlowedByH2d).value, 0.98 * seconds / (seconds + 2e-6 * in_all), 1e-12);
  EXPECT_FALSE(all.contains(interference_key(LaneKind::compute, LaneKind::d2h)));
}

TEST(LaunchDelay, HardlySlowsLongKernels) {
  const Job small = job_of("qwen2.5-0.5b"), large = job_of("qwen2.5-7b");
  const auto factor = [](const Job& job, double scale) {
    return with_launch_delays(job, profile_with_factor(1),
                              measured_passes(job, scale * 300e-6, scale * 700e-6, scale * 6e-3))
        .at(kSlowedByH2d)
        .value;
  };
  EXPECT_LT(factor(small, 1), 0.96);
  EXPECT_GT(factor(large, 10), 0.99);
}

TEST(LaunchDelay, StandsBesideACalibratedFactorAndIsNothingWhereUnknown) {
  const Job job = job_of("qwen2.5-0.5b");
  const MachineProfile profile = profile_with_factor(0.98);
  Calibration known = measured_passes(job, 300e-6, 700e-6, 6e-3);
  const double stated = with_launch_delays(job, profile, known).at(kSlowedByH2d).value;
  know(known, kSlowedByH2d, 0.49);
  EXPECT_NEAR(with_launch_delays(job, profile, known).at(kSlowedByH2d).value, stated / 2, 1e-12);
  known.erase(launch_delay_key(CopyDirection::h2d));
  EXPECT_EQ(with_launch_delays(job, profile, known), known);
}

TEST(LaunchDelay, OfExpertsTheirManyKernelsCount) {
  const Job job = job_of("qwen3-30b-a3b");
  Calibration known;
  know(known, launch_delay_key(CopyDirection::h2d), 2e-6);
  // Nothing measured: the passes take the profile's time, at a thousandth of a GPU's rates.
  const double factor =
      with_launch_delays(job, profile_with_factor(1), known).at(kSlowedByH2d).value;
  EXPECT_LT(factor, 1);
  EXPECT_GT(factor, 0.99);
}

TEST(LaunchDelay, PredictionsHaveIt) {
  const Job job = job_of("qwen2.5-0.5b");
  const MachineProfile profile = profile_with_factor(1);
  const Predictor predictor(
      job, {profile, profile_hash(profile), Bytes(1ll << 36), Bytes(1ll << 36), Bytes(0)},
      measured_passes(job, 300e-6, 700e-6, 6e-3));
  for (const auto& each : predictor.costs().interference()) {
    if (each.on == LaneKind::compute && each.from == LaneKind::h2d) {
      EXPECT_LT(each.factor, 0.96);
    }
  }
}

}  // namespace
}  // namespace sluice::planner
