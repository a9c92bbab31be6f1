#include "profiler/fits/boost_fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "planner/costs/lane_boost.hpp"
#include "planner/layout/laid_out.hpp"
#include "profiler/fits/calibration_fit.hpp"
#include "sim/boost.hpp"
#include "tests/profiler/small_machine.hpp"

namespace sluice::profiler {
namespace {

constexpr planner::CostModel::LaneBoost kTrue{0.3, 1.16, Seconds(0.05), 0.08, Seconds(0.4)};

/// A run of bursts of passes, with pauses of `pause` seconds between them, on a lane that rests.
std::vector<ComputeSpan> made_run(double pause, double noise, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, noise);
  std::vector<ComputeSpan> spans;
  sim::LaneRest lane(planner::rest_rule(kTrue));
  double at = 0;
  for (int burst = 0; burst < 60; ++burst) {
    for (int i = 0; i < 12; ++i) {
      const std::size_t group = i % 3 == 2 ? 1 : 0;
      const double sustained = (group == 0 ? 1.1e-3 : 2.4e-3) * std::exp(normal(random));
      const double time = lane.time_for(sustained);
      lane.run_for(time);
      spans.push_back({.start = Seconds(at), .end = Seconds(at + time), .group = group});
      at += time;
    }
    lane.idle_for(pause);
    at += pause;
  }
  return spans;
}

TEST(BoostFit, RecoversWhatWasHidden) {
  const auto fit = fit_boost({made_run(0, 0.01, 1), made_run(0.004, 0.01, 2),
                              made_run(0.02, 0.01, 3), made_run(0.1, 0.01, 4)});
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->boost.most, kTrue.most, 0.021);
  // Gain and window are correlated: their effect on a rest in between is what counts.
  EXPECT_NEAR(fit->boost.gain, kTrue.gain, 0.08);
  EXPECT_NEAR(fit->boost.window.count(), kTrue.window.count(), 0.011);
  EXPECT_LT(fit->residual, 0.01);
  EXPECT_GT(fit->residual_without, 0.04);
}

TEST(BoostFit, RefusesWhereRestHardlyVaries) {
  EXPECT_FALSE(fit_boost({made_run(0, 0.01, 1), made_run(0, 0.01, 2)}));
  EXPECT_FALSE(fit_boost({}));
}

TEST(BoostFit, RefusesWhereRestExplainsLittle) {
  auto runs = {made_run(0, 0, 1), made_run(0.02, 0, 2), made_run(0.1, 0, 3)};
  std::vector<std::vector<ComputeSpan>> steady(runs);
  std::mt19937 random(5);
  std::normal_distribution<double> normal(0, 0.02);
  for (auto& run : steady) {
    for (ComputeSpan& span : run) {  // The same pauses, times that do not follow them.
      const double time = (span.group == 0 ? 1.1e-3 : 2.4e-3) * std::exp(normal(random));
      span.end = span.start + Seconds(time * 0.8);
    }
  }
  EXPECT_FALSE(fit_boost(steady));
}

TEST(BoostFit, TasksThatDoNotBoostKeepTheLaneBusyAndSayNothing) {
  auto run = made_run(0.02, 0, 1);
  for (ComputeSpan& span : run) span.boosts = 0;
  EXPECT_FALSE(fit_boost({run}));
}

planner::MachineProfile resting_gpu() {
  planner::MachineProfile machine = test::small_machine();
  machine.device = planner::DeviceKind::cuda;
  machine.boost_gain.value = kTrue.gain;
  machine.boost_most.value = kTrue.most;
  machine.boost_window.value = Seconds(2e-3);
  return machine;
}

/// Four steps as a machine with those costs would run them.
MeasuredRun simulated_run(const planner::Job& job, const planner::Plan& plan,
                          const planner::ProfileCostModel& costs) {
  const auto graph = planner::build_step_graph(job, plan, costs);
  const sim::Timeline timeline = sim::simulate(graph.graph);
  MeasuredRun run{.plan = plan, .steps = {}};
  for (std::size_t step = 0; step < 3; ++step) {
    const auto first =
        timeline.spans.begin() + static_cast<std::ptrdiff_t>(step * graph.tasks_per_step);
    run.steps.emplace_back(first, first + static_cast<std::ptrdiff_t>(graph.tasks_per_step));
  }
  return run;
}

TEST(BoostFit, CostsTaughtByALaneThatRestedAreThoseOfOneThatNeverDoes) {
  const planner::Job job = test::small_job();
  const planner::MachineProfile machine = resting_gpu();
  const planner::Plan plan = planner::uniform_plan(job, {}, 1);
  const planner::ProfileCostModel truth(machine, {});
  const MeasuredRun run = simulated_run(job, plan, truth);
  const auto fit = fit_calibration(job, machine, {}, std::span(&run, 1), {.boost = false});
  const auto graph = planner::build_step_graph(job, plan, truth);
  std::size_t checked = 0;
  for (std::size_t i = 0; i < graph.tasks_per_step; ++i) {
    const planner::StepTask& task = graph.tasks[i];
    if (!graph.graph.tasks()[i].boosts) continue;
    const double sustained = truth.compute(task.cost, task.work).amount.count();
    EXPECT_NEAR(fit.calibration.at(task.cost).value / sustained, 1, 5e-3) << task.cost.name();
    ++checked;
  }
  EXPECT_GT(checked, 0U);
}

TEST(BoostFit, CalibrationKeepsItForTheModel) {
  planner::Calibration calibration;
  add_boost(calibration, "hash", {.boost = kTrue, .points = 40}, "autotune");
  planner::MachineProfile machine = test::small_machine();
  machine.device = planner::DeviceKind::cuda;
  const auto boost = planner::lane_boost(machine, calibration);
  ASSERT_TRUE(boost);
  EXPECT_EQ(boost->gain, kTrue.gain);
  EXPECT_EQ(boost->most, kTrue.most);
  EXPECT_EQ(boost->window, kTrue.window);
  EXPECT_EQ(boost->lasting_gain, kTrue.lasting_gain);
  EXPECT_EQ(boost->lasting_window, kTrue.lasting_window);
}

}  // namespace
}  // namespace sluice::profiler
