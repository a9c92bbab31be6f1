#include "profiler/fits/interference_fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "planner/costs/cost_model.hpp"
#include "planner/layout/laid_out.hpp"
#include "tests/profiler/small_machine.hpp"

namespace sluice::profiler {
namespace {

/// Tasks of two groups, overlapped by two lanes for random shares, with noise.
std::vector<OverlappedTask> made_tasks(double factor0, double factor1, double noise) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> share(0, 1);
  std::normal_distribution<double> normal(0, noise);
  std::vector<OverlappedTask> tasks;
  for (int i = 0; i < 200; ++i) {
    const std::size_t group = i % 2;
    const double a = share(random);
    const double b = share(random);
    const double alone = group == 0 ? 0.010 : 0.025;
    tasks.push_back(
        {group,
         alone / (1 - (1 - factor0) * a) / (1 - (1 - factor1) * b) * std::exp(normal(random)),
         {a, b}});
  }
  return tasks;
}

TEST(InterferenceFit, RecoversHiddenFactorsExactlyWithoutNoise) {
  const auto estimates = fit_factors(made_tasks(0.8, 0.95, 0), {{1.0, 0.1}, {1.0, 0.1}});
  EXPECT_NEAR(estimates[0].factor, 0.8, 1e-3);
  EXPECT_NEAR(estimates[1].factor, 0.95, 1e-3);
}

TEST(InterferenceFit, RecoversHiddenFactorsWithinTwoPercentUnderFourPercentNoise) {
  const auto estimates = fit_factors(made_tasks(0.8, 0.95, 0.04), {{1.0, 0.1}, {1.0, 0.1}});
  EXPECT_NEAR(estimates[0].factor, 0.8, 0.02);
  EXPECT_NEAR(estimates[1].factor, 0.95, 0.02);
  EXPECT_LT(estimates[0].deviation, 0.02);
}

TEST(InterferenceFit, PreemptedTasksHardlyMoveTheFactors) {
  auto tasks = made_tasks(0.8, 0.95, 0.01);
  for (std::size_t i = 0; i < tasks.size(); i += 20) tasks[i].seconds *= 3;
  const auto estimates = fit_factors(tasks, {{1.0, 0.1}, {1.0, 0.1}});
  EXPECT_NEAR(estimates[0].factor, 0.8, 0.04);
}

TEST(InterferenceFit, KeepsThePriorOfALaneThatAlwaysOrNeverRuns) {
  auto tasks = made_tasks(0.8, 1, 0.01);
  for (auto& task : tasks) task.share[1] = 1;
  const auto estimates = fit_factors(tasks, {{1.0, 0.1}, {0.9, 0.05}});
  EXPECT_DOUBLE_EQ(estimates[1].factor, 0.9);
}

TEST(InterferenceFit, OthersAreFittedBesideAPriorThatIsKept) {
  // The second lane's share hardly varies, with the first's: what it truly does is counted to that.
  std::vector<OverlappedTask> tasks;
  const auto speed = [](double factor0, double factor1, double a, double b) {
    return (1 - (1 - factor0) * a) * (1 - (1 - factor1) * b);
  };
  for (int i = 0; i <= 100; ++i) {
    const double a = i / 100.0, b = 0.5 + 0.04 * a;
    tasks.push_back({0, 0.01 / speed(0.8, 0.5, a, b), {a, b}});
  }
  const auto estimates = fit_factors(tasks, {{1.0, 0.5}, {0.9, 0.5}});
  EXPECT_DOUBLE_EQ(estimates[1].factor, 0.9);
  const auto slow_down = [&](double factor0, double factor1) {
    return speed(factor0, factor1, 1, 0.54) / speed(factor0, factor1, 0, 0.5);
  };
  EXPECT_NEAR(slow_down(estimates[0].factor, estimates[1].factor), slow_down(0.8, 0.5), 2e-3);
}

TEST(InterferenceFit, TooFewTasksKeepThePriors) {
  const auto estimates = fit_factors({{0, 0.1, {1.0}}}, {{0.7, 0.05}});
  EXPECT_DOUBLE_EQ(estimates[0].factor, 0.7);
}

TEST(InterferenceFit, NothingRunsFasterBesideOtherLoads) {
  auto tasks = made_tasks(1, 1, 0);
  for (auto& task : tasks) task.seconds *= 1 - 0.1 * task.share[0];
  EXPECT_DOUBLE_EQ(fit_factors(tasks, {{1.0, 0.1}, {1.0, 0.1}})[0].factor, 1);
}

Instant at(double seconds) { return Instant(std::chrono::round<Duration>(Seconds(seconds))); }

/// Steps of a GPU whose passes take 20 us a kernel (forward) or 60 us (backward), and `delay` more
/// a kernel while a copy to the device runs, as one does now and then, alternating.
MeasuredRun delayed_run(const planner::StepGraph& graph, const planner::Plan& plan, double delay) {
  std::vector<std::size_t> copies;
  std::size_t passes = 0;
  for (std::size_t i = 0; i < graph.tasks_per_step; ++i) {
    if (graph.tasks[i].lane == planner::LaneKind::h2d) copies.push_back(i);
    if (graph.tasks[i].lane == planner::LaneKind::compute) ++passes;
  }
  const std::size_t every = passes / copies.size() + 1;
  MeasuredRun run{plan, {}};
  double now = 0;
  for (std::size_t step = 0; step < 6; ++step) {
    std::vector<Recorder::Span> spans(graph.tasks_per_step, {at(now), at(now)});
    std::size_t turn = step, copied = 0;
    for (std::size_t i = 0; i < graph.tasks_per_step; ++i) {
      const planner::StepTask& task = graph.tasks[i];
      if (task.lane != planner::LaneKind::compute) continue;
      const bool beside = turn++ % every == 0 && copied < copies.size();
      const double alone = task.cost.name().starts_with("backward") ? 60e-6 : 20e-6;
      const double begin = now;
      now += static_cast<double>(task.work.kernels) * (alone + (beside ? delay : 0));
      spans[i] = {at(begin), at(now)};
      if (beside) spans[copies[copied++]] = spans[i];
    }
    run.steps.push_back(std::move(spans));
  }
  return run;
}

TEST(InterferenceFit, OfAGpuTellsDelaysOfLaunchesFromSlowDowns) {
  const planner::Job job = test::small_job();
  planner::MachineProfile gpu = test::small_machine();
  gpu.device = planner::DeviceKind::cuda;
  const planner::Plan plan = test::small_plan(job, 1, 3);
  const planner::StepGraph graph =
      planner::build_step_graph(job, plan, planner::ProfileCostModel(gpu, {}));
  const MeasuredRun run = delayed_run(graph, plan, 4e-6);
  const std::vector<LaneFactor> priors{
      {planner::LaneKind::compute, planner::LaneKind::h2d, 0.99, 0.05, 0}};
  const auto fitted = fit_interference({{graph, run}}, priors, gpu, std::nullopt);
  ASSERT_TRUE(fitted[0].launch_delay.has_value());
  EXPECT_NEAR(fitted[0].launch_delay->seconds, 4e-6, 0.4e-6);
  EXPECT_NEAR(fitted[0].factor, 1, 0.005);

  planner::MachineProfile host = test::small_machine();
  EXPECT_FALSE(fit_interference({{graph, run}}, priors, host, std::nullopt)[0].launch_delay);
}

}  // namespace
}  // namespace sluice::profiler
