#include "profiler/interference_fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

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

TEST(InterferenceFit, TooFewTasksKeepThePriors) {
  const auto estimates = fit_factors({{0, 0.1, {1.0}}}, {{0.7, 0.05}});
  EXPECT_DOUBLE_EQ(estimates[0].factor, 0.7);
}

TEST(InterferenceFit, NothingRunsFasterForCompany) {
  auto tasks = made_tasks(1, 1, 0);
  for (auto& task : tasks) task.seconds *= 1 - 0.1 * task.share[0];
  EXPECT_DOUBLE_EQ(fit_factors(tasks, {{1.0, 0.1}, {1.0, 0.1}})[0].factor, 1);
}

}  // namespace
}  // namespace sluice::profiler
