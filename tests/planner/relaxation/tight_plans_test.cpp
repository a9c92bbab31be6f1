// Bounds beside random plans on machines that hold no more than each plan takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>

#include "planner/plans/random_plan.hpp"
#include "planner/predictions/plan_estimate.hpp"
#include "planner/relaxation/plan_relaxation.hpp"
#include "planner/relaxation/proven_bound.hpp"
#include "tests/planner/relaxation/uneven_machines.hpp"

namespace sluice::planner {
namespace {

using test::tiny_job;
using test::uneven_machines;

/// Pins of plans whose ranks get weights as those of `plan` do.
Pins gathers_of(const Plan& plan) {
  return [gather = plan.gather](Plan& other) { other.gather = gather; };
}

Seconds least_bound(const Predictor& predictor, std::int64_t rounds, const Pins& pins = {}) {
  const PlanRelaxation relaxation(predictor, pins);
  RelaxedNode node;
  node.rounds = rounds;
  node.proves = true;
  const RelaxedPlan relaxed = relaxation.solve(node);
  EXPECT_TRUE(relaxed.feasible);
  return relaxed.bound;
}

/// A random plan on a machine that can hold no more than this plan's own memory.
struct TightPlan {
  Plan plan;
  Seconds step;         ///< The simulated step.
  Predictor predictor;  ///< Predictor for the machine with this plan's own memory.
  std::string text;     ///< The case in words, for messages.
};

/// Calls `body` with the tight plans of `seeds` seeds on each uneven machine, for jobs with and
/// without clipping and a tied head, that run at all. `batch_size` is the jobs', where it is not
/// the usual one, and `groups` the jobs' groups of micro-batches. Plans are of `ranks` ranks, with
/// a fabric that is slow on some machines. Returns the number of plans.
template <class Body>
int for_tight_plans(std::uint64_t seeds, std::optional<std::int64_t> batch_size, Body body,
                    std::int64_t groups = 1, std::int64_t ranks = 1) {
  Job unclipped = tiny_job();
  unclipped.optimizer.clip.reset();
  int count = 0;
  for (ResolvedMachine& machine : uneven_machines()) {
    if (ranks > 1) {
      const double rate = machine.profile.h2d.value.count();
      machine.profile.fabric =
          Fabric{.latency = test::measured(1e-5),
                 .gather = {{1e3, test::measured(rate)}, {1e6, test::measured(3 * rate)}},
                 .exchange = {{1e4, test::measured(2 * rate)}},
                 .interference = {{LaneKind::compute, LaneKind::fabric, test::measured(0.8)},
                                  {LaneKind::fabric, LaneKind::compute, test::measured(0.7)},
                                  {LaneKind::fabric, LaneKind::h2d, test::measured(0.9)}}};
    }
    for (Job job : {tiny_job(), tiny_job(true), unclipped}) {
      job.batch_size = batch_size.value_or(job.batch_size);
      job.groups = groups;
      const Predictor predictor(job, machine, {}, Residency::automatic, {}, ranks);
      for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        const Plan plan = random_plan(job, seed, ranks);
        const PlanScore score = predictor.score(plan);
        if (score.step.count() == 0) continue;
        ResolvedMachine tight = machine;
        tight.hbm = score.hbm;
        tight.host = score.host;
        std::ostringstream text;
        text << "seed " << seed << " rounds " << plan.rounds << " on "
             << (machine.profile.device == DeviceKind::host ? "host" : "cuda") << " clip "
             << job.optimizer.clip.has_value() << " tied " << job.model.tied_head << " h2d "
             << machine.profile.h2d.value.count() << " d2h " << machine.profile.d2h.value.count()
             << " gather " << to_string(plan.gather);
        body(TightPlan{plan, to_seconds(score.step),
                       Predictor(job, tight, {}, Residency::automatic, {}, ranks), text.str()});
        ++count;
      }
    }
  }
  return count;
}

/// Expects that a plan fits its own memory and is no faster than the constraints of its own counts.
void expect_own_counts_hold(const PlanRelaxation& relaxation, const TightPlan& tight) {
  const auto exceeded = relaxation.exceeded(tight.plan);
  EXPECT_FALSE(exceeded.has_value())
      << tight.text << " of " << (exceeded ? to_string(*exceeded) : "");
  // The third step, which is what counts, may leave a store to the fourth.
  EXPECT_LE(relaxation.bound_of(tight.plan).count(), tight.step.count() * (1 + 2e-3)) << tight.text;
}

/// Expects that neither the space of a plan's number of rounds nor its own counts say that it
/// cannot be.
void expect_bounded(const TightPlan& tight) {
  const Pins pins = gathers_of(tight.plan);
  const Seconds bound = least_bound(tight.predictor, tight.plan.rounds, pins);
  EXPECT_LE(bound.count(), tight.step.count() * (1 + 1e-9)) << tight.text;
  expect_own_counts_hold(PlanRelaxation(tight.predictor, pins), tight);
}

TEST(PlanRelaxation, NoRandomPlanThatFitsBeatsTheBoundOfItsRounds) {
  const int checked = for_tight_plans(60, std::nullopt, [](const TightPlan& tight) {
    const Seconds bound = least_bound(tight.predictor, tight.plan.rounds);
    EXPECT_LE(bound.count(), tight.step.count() * (1 + 1e-9)) << tight.text;
  });
  EXPECT_GT(checked, 1000);
}
TEST(PlanRelaxation, NoRandomPlanOfGroupsBeatsItsBoundsOrExceedsItsOwnMemory) {
  for (const std::int64_t groups : {2, 3, 6}) {
    const int checked = for_tight_plans(
        12, 6, [](const TightPlan& tight) { expect_bounded(tight); }, groups);
    EXPECT_GT(checked, 200);
  }
}
TEST(PlanRelaxation, NoRandomPlanOfRanksBeatsItsBoundsOrExceedsItsOwnMemory) {
  for (const std::int64_t ranks : {2, 4}) {
    for (const std::int64_t groups : {ranks, 2 * ranks}) {
      const int checked = for_tight_plans(
          12, 4 * ranks,
          [](const TightPlan& tight) {
            expect_bounded(tight);
            const PlanEstimate estimate = PlanEstimator(tight.predictor).estimate(tight.plan);
            EXPECT_LE(estimate.hbm_at_least, tight.predictor.machine().hbm) << tight.text;
            EXPECT_LE(estimate.host_at_least, tight.predictor.machine().host) << tight.text;
            EXPECT_LE(estimate.bound.count(), tight.step.count() * (1 + 1e-9)) << tight.text;
          },
          groups, ranks);
      EXPECT_GT(checked, 200);
    }
  }
}
TEST(PlanRelaxation, EveryRandomPlanFitsItsOwnMemoryAndIsNoFasterThanItsOwnCounts) {
  int staged = 0, embeds = 0, waiting = 0;
  const int checked = for_tight_plans(80, 6, [&](const TightPlan& tight) {
    const PlanRelaxation relaxation(tight.predictor, {});
    expect_own_counts_hold(relaxation, tight);
    staged += std::ranges::any_of(tight.plan.units, stages_state) ? 1 : 0;
    embeds += tight.plan.rounds == 1 && stages_state(tight.plan.units.front()) ? 1 : 0;
    Plan many = tight.plan;
    many.activation_buffers = std::max(many.activation_buffers, many.micro_batches_per_round);
    waiting += relaxation.bound_of(tight.plan) > relaxation.bound_of(many) ? 1 : 0;
  });
  EXPECT_GT(checked, 1500);
  EXPECT_GT(staged, 300);
  EXPECT_GT(embeds, 40);
  EXPECT_GT(waiting, 20);
}
TEST(PlanRelaxation, NoTightPlanIsBelowTheLeastOfItsParts) {
  int checked = 0, slotted = 0;
  for_tight_plans(20, 6, [&](const TightPlan& tight) {
    if (tight.plan.rounds < 3) return;
    const PlanRelaxation relaxation(tight.predictor, {});
    RelaxedNode node;
    node.rounds = tight.plan.rounds;
    node.proves = true;
    RelaxedPlan relaxed = relaxation.solve(node);
    ASSERT_TRUE(relaxed.feasible) << tight.text;
    for (const RelaxedNode& part : relaxation.split(node, relaxed)) {
      slotted += part.gradient_slots.least > 1 ? 1 : 0;
    }
    ProvenBound proven(relaxation, {{node, std::move(relaxed)}});
    EXPECT_LE(proven.improve(40).count(), tight.step.count() * (1 + 2e-3)) << tight.text;
    ++checked;
  });
  EXPECT_GT(checked, 200);
  EXPECT_GT(slotted, 20);
}

}  // namespace
}  // namespace sluice::planner
