// Tests of what helps a plan that keeps state on the disk, and how much of that is looked at.
#include <gtest/gtest.h>

#include <algorithm>

#include "planner/effort/search_settings.hpp"
#include "planner/explanation/less_on_disk.hpp"
#include "planner/explanation/machine_resources.hpp"
#include "planner/explanation/plan_explanation.hpp"
#include "tests/planner/disk_jobs.hpp"

namespace sluice::planner {
namespace {

using test::all_on_disk;
using test::disk_machine;
using test::tiny_job;

constexpr std::int64_t kReliefEffort = 30'000;

SearchSettings short_search() {
  SearchSettings settings;
  settings.effort = kReliefEffort;
  settings.exhaustive = 1;
  return settings;
}

/// A machine whose disk is so slow that its lanes set the step.
ResolvedMachine slow_disk() { return disk_machine(1e6, 1e6); }

TEST(DiskReliefs, ASlowDiskIsRelaxedFirstAndOnlyPlansOfTheDiskKnowIt) {
  const Predictor predictor(tiny_job(), slow_disk(), {}, Residency::host);
  const PredictedStep on_disk = predictor.predict(all_on_disk(tiny_job()));
  const PlanExplanation explanation =
      explain(on_disk, predictor, {}, short_search(), Replan::never);
  ASSERT_NE(explanation.first(), nullptr);
  EXPECT_EQ(explanation.first()->resource, kDiskResource);
  // Nearly all of the step is transfers: 10 % more takes nearly 1 - 1 / 1.1 off it.
  EXPECT_LT(to_seconds(explanation.first()->step), 0.93 * to_seconds(explanation.step));

  const PredictedStep in_memory = predictor.predict(all_on_disk(tiny_job(), Tier::host));
  const PlanExplanation without = explain(in_memory, predictor, {}, short_search(), Replan::never);
  EXPECT_EQ(std::ranges::count(without.reliefs, kDiskResource, &Relief::resource), 0);
}

TEST(DiskReliefs, PlansTooLongToSimulateOftenAreExplainedByFewCoarseOnes) {
  const Predictor predictor(tiny_job(), slow_disk(), {}, Residency::host);
  const PredictedStep step = predictor.predict(all_on_disk(tiny_job()));
  const Plan& plan = step.prediction.plan;
  const SearchSettings settings = short_search();
  const Calibration calibration;
  Reliefs exact(predictor, calibration, settings, step.graph.tasks.size());
  Reliefs coarse(predictor, calibration, settings, 1'000'000);
  const std::vector<Relief> about = coarse.of_all(plan, step.prediction.step, kMore);
  const std::vector<Relief> all = exact.of_all(plan, step.prediction.step, kMore);
  ASSERT_EQ(about.size(), all.size());
  for (const Relief& one : about) {
    const auto same = std::ranges::find(all, one.resource, &Relief::resource);
    EXPECT_EQ(one.coarse, machine_resource(one.resource).kind == ResourceKind::rate);
    EXPECT_FALSE(same->coarse);
    // Within 1 % of the step, of which 10 % more of the disk is worth some 9 %.
    EXPECT_NEAR(to_seconds(one.step) / to_seconds(same->step), 1, 0.01) << one.resource;
  }
  std::vector<Relief> searched = about;
  coarse.search_again(searched, step.prediction.memory, step.prediction.step);
  EXPECT_EQ(std::ranges::count(coarse.left_out(), "a search with 10 % more disk"), 1);
}

TEST(LessOnDisk, BringsBackWhatMoreHostMemoryHasRoomFor) {
  const Job job = tiny_job();
  ResolvedMachine machine = slow_disk();
  const Plan plan = all_on_disk(job);
  const PredictedStep step = Predictor(job, machine, {}, Residency::host).predict(plan);
  const Bytes taken = at(step.prediction.memory, Tier::host).peak;
  // Room for one block's state and not for two.
  const Bytes block = disk_state_bytes(job, unit_padded_size(job.model, 1));
  machine.host = taken + block * 3 / 2;
  const Predictor roomier(job, machine, {}, Residency::host);
  const auto less = less_on_disk(plan, step.prediction.step, roomier, short_search());
  ASSERT_TRUE(less.has_value());
  EXPECT_LT(less->step, step.prediction.step);
  EXPECT_TRUE(roomier.predict(less->plan).prediction.fits);
  const auto on_disk = [](const Plan& some) {
    return std::ranges::count(some.units, Tier::disk, &UnitPlan::state);
  };
  EXPECT_LT(on_disk(less->plan), on_disk(plan));

  machine.host = taken;
  const Predictor full(job, machine, {}, Residency::host);
  EXPECT_FALSE(less_on_disk(plan, step.prediction.step, full, short_search()).has_value());
}

}  // namespace
}  // namespace sluice::planner
