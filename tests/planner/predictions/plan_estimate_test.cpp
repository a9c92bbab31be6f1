#include "planner/predictions/plan_estimate.hpp"

#include <gtest/gtest.h>

#include "planner/graph/step_graph.hpp"
#include "planner/layout/memory.hpp"
#include "planner/plans/random_plan.hpp"
#include "tests/planner/round_machine.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

using test::round_machine;
using test::tiny_job;

Bytes host_peak(const Predictor& predictor, const Plan& plan) {
  const StepGraph graph = build_step_graph(predictor.job(), plan, predictor.costs());
  return at(memory_of(graph, predictor.machine()), Tier::host).peak;
}

TEST(PlanEstimate, NoRandomPlanTakesLessOfTheHostThanItCertainlyDoes) {
  for (const Job& job : {tiny_job(), tiny_job(true)}) {
    const Predictor predictor(job, round_machine(), {});
    const PlanEstimator estimator(predictor);
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
      const Plan plan = random_plan(job, seed);
      const PlanEstimate estimate = estimator.estimate(plan);
      EXPECT_LE(estimate.host_at_least.count(), host_peak(predictor, plan).count())
          << seed << " rounds " << plan.rounds;
    }
  }
}

/// Gradients that wait on the device pass through the host on their way to the CPU's updates.
TEST(PlanEstimate, CountsEverySlotOfTheHostForGradients) {
  const Predictor predictor(tiny_job(), round_machine(), {});
  UnitPlan unit;
  unit.gradients = Tier::hbm;
  unit.when = When::forward;
  Plan plan = uniform_plan(predictor.job(), unit, 1);
  const PlanEstimator estimator(predictor);
  plan.gradient_buffers = 1;
  const Bytes estimated = estimator.estimate(plan).host_at_least;
  const Bytes taken = host_peak(predictor, plan);
  plan.gradient_buffers = 3;
  EXPECT_GT(host_peak(predictor, plan), taken);
  EXPECT_EQ(estimator.estimate(plan).host_at_least - estimated, host_peak(predictor, plan) - taken);
}

}  // namespace
}  // namespace sluice::planner
