#include "planner/costs/sibling_costs.hpp"

#include <gtest/gtest.h>

#include "planner/catalogue/catalogue.hpp"
#include "planner/costs/cost_key.hpp"
#include "planner/costs/cost_model.hpp"
#include "tests/planner/round_machine.hpp"

namespace sluice::planner {
namespace {

Job measured_job(std::int64_t length, const char* model = "qwen2.5-0.5b") {
  Job job;
  job.model = find_model(model);
  job.seq_len = length;
  job.micro_batch = 2;
  job.batch_size = 4;
  return job;
}

double profile_time(const Job& job, Pass pass) {
  return ProfileCostModel(test::round_profile(DeviceKind::cuda), {})
      .compute(compute_key(job, pass, 1), work_of(job, pass, 1))
      .amount.count();
}

/// Adds a forward pass of `job` over a block that took `ratio` times the profile's time.
void measure(Calibration& calibration, const Job& job, double ratio) {
  CalibrationSample sample;
  sample.key = compute_key(job, Pass::block_forward, 1);
  sample.value = ratio * profile_time(job, Pass::block_forward);
  calibration[sample.key] = sample;
}

double predicted_ratio(const Calibration& calibration, const Job& job) {
  const auto all = with_siblings(job, test::round_profile(DeviceKind::cuda), calibration);
  return all.at(compute_key(job, Pass::block_forward, 1)).value /
         profile_time(job, Pass::block_forward);
}

TEST(SiblingCostsOfOtherJobs, APassErrsAsItDidInAnotherJob) {
  Calibration calibration;
  measure(calibration, measured_job(1024), 1.5);
  EXPECT_NEAR(predicted_ratio(calibration, measured_job(2048)), 1.5, 1e-9);
  const auto all =
      with_siblings(measured_job(2048), test::round_profile(DeviceKind::cuda), calibration);
  EXPECT_EQ(all.at(compute_key(measured_job(2048), Pass::block_forward, 1)).source, kSiblingSource);
}

TEST(SiblingCostsOfOtherJobs, TheNearerShapeCountsMore) {
  Calibration calibration;
  measure(calibration, measured_job(512), 2);
  measure(calibration, measured_job(8192), 1);
  EXPECT_GT(predicted_ratio(calibration, measured_job(1024)), 1.7);
  EXPECT_LT(predicted_ratio(calibration, measured_job(4096)), 1.2);
}

TEST(SiblingCostsOfOtherJobs, ItsOwnMeasurementIsKept) {
  Calibration calibration;
  measure(calibration, measured_job(512), 2);
  measure(calibration, measured_job(1024), 1.25);
  EXPECT_NEAR(predicted_ratio(calibration, measured_job(1024)), 1.25, 1e-9);
}

TEST(SiblingCostsOfOtherJobs, OtherModelsTeachToo) {
  Calibration calibration;
  measure(calibration, measured_job(1024, "llama-3.1-8b"), 1.5);
  EXPECT_NEAR(predicted_ratio(calibration, measured_job(1024, "qwen2.5-7b")), 1.5, 1e-9);
}

}  // namespace
}  // namespace sluice::planner
