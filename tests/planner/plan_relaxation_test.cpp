#include "planner/plan_relaxation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "planner/random_plan.hpp"
#include "tests/planner/round_machine.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

using test::round_machine;
using test::tiny_job;

/// Machines on which different things bind: one resource at a time is scarce, or lanes slow each
/// other.
std::vector<ResolvedMachine> uneven_machines() {
  std::vector<ResolvedMachine> all;
  for (const DeviceKind device : {DeviceKind::host, DeviceKind::cuda}) {
    const ResolvedMachine base = [&] {
      ResolvedMachine machine = round_machine(device);
      machine.hbm += context_bytes(machine.profile);
      machine.host += Bytes(1ll << 31);
      return machine;
    }();
    all.push_back(base);
    for (int which = 0; which < 5; ++which) {
      ResolvedMachine machine = base;
      if (which == 0) machine.profile.h2d.value /= 10;
      if (which == 1) machine.profile.d2h.value /= 10;
      if (which == 2) {
        for (auto& [threads, rate] : machine.profile.update) rate.value /= 10;
      }
      if (which == 3) {
        machine.profile.dram = test::measured(12e6);
        machine.profile.h2d_dram = machine.profile.d2h_dram = test::measured(1);
        machine.profile.update_dram = test::measured(28);
      }
      if (which == 3 && machine.profile.device == DeviceKind::cuda) {
        machine.profile.boost_gain = test::measured(0.5);
        machine.profile.boost_most = test::measured(1.3);
        machine.profile.boost_window = test::measured(2e-3);
      }
      if (which == 4) {
        machine.profile.interference = {{"compute", "h2d", test::measured(0.8)},
                                        {"compute", "cpu", test::measured(0.9)},
                                        {"cpu", "h2d", test::measured(0.7)},
                                        {"cpu", "compute", test::measured(0.9)}};
      }
      all.push_back(machine);
    }
  }
  return all;
}

Seconds least_bound(const Predictor& predictor, std::int64_t rounds) {
  const PlanRelaxation relaxation(predictor, {});
  RelaxedNode node;
  node.rounds = rounds;
  const RelaxedPlan relaxed = relaxation.solve(node);
  EXPECT_TRUE(relaxed.feasible);
  return relaxed.bound;
}

TEST(PlanRelaxation, NoRandomPlanThatFitsBeatsTheBoundOfItsRounds) {
  Job unclipped = tiny_job();
  unclipped.optimizer.clip.reset();
  int checked = 0;
  for (const ResolvedMachine& machine : uneven_machines()) {
    for (const Job& job : {tiny_job(), tiny_job(true), unclipped}) {
      const Predictor predictor(job, machine, {});
      for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const Plan plan = random_plan(job, seed);
        const PlanScore score = predictor.score(plan);
        if (score.step.count() == 0) continue;
        // No machine here can hold more than this plan's own memory, and the bound still holds.
        ResolvedMachine tight = machine;
        tight.hbm = score.hbm;
        tight.host = score.host;
        const Seconds bound = least_bound(Predictor(job, tight, {}), plan.rounds);
        EXPECT_LE(bound.count(), to_seconds(score.step).count() * (1 + 1e-9))
            << "seed " << seed << " on "
            << (machine.profile.device == DeviceKind::host ? "host" : "cuda") << " clip "
            << job.optimizer.clip.has_value() << " tied " << job.model.tied_head << " h2d "
            << machine.profile.h2d.value << " d2h " << machine.profile.d2h.value;
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 1000);
}

/// Far sharper than the bound of a space: each plan against the rows of its own counts.
TEST(PlanRelaxation, EveryRandomPlanFitsItsOwnMemoryAndIsNoFasterThanItsOwnCounts) {
  Job unclipped = tiny_job();
  unclipped.optimizer.clip.reset();
  int checked = 0, staged = 0;
  for (const ResolvedMachine& machine : uneven_machines()) {
    for (Job job : {tiny_job(), tiny_job(true), unclipped}) {
      job.batch_size = 6;
      const Predictor predictor(job, machine, {});
      for (std::uint64_t seed = 0; seed < 80; ++seed) {
        const Plan plan = random_plan(job, seed);
        const PlanScore score = predictor.score(plan);
        if (score.step.count() == 0) continue;
        ResolvedMachine tight = machine;
        tight.hbm = score.hbm;
        tight.host = score.host;
        const Predictor in_its_memory(job, tight, {});
        const PlanRelaxation relaxation(in_its_memory, {});
        const auto exceeded = relaxation.exceeded(plan);
        EXPECT_FALSE(exceeded.has_value()) << "seed " << seed << " rounds " << plan.rounds << " of "
                                           << (exceeded ? to_string(*exceeded) : "");
        // The third step, which is what counts, may leave a store to the fourth.
        EXPECT_LE(relaxation.bound_of(plan).count(), to_seconds(score.step).count() * (1 + 2e-3))
            << "seed " << seed << " rounds " << plan.rounds << " clip "
            << job.optimizer.clip.has_value() << " tied " << job.model.tied_head;
        ++checked;
        staged += std::any_of(plan.units.begin(), plan.units.end(), stages_state) ? 1 : 0;
      }
    }
  }
  EXPECT_GT(checked, 1500);
  EXPECT_GT(staged, 300);
}

TEST(PlanRelaxation, IsInfeasibleWhereTheHostCannotHoldTheState) {
  ResolvedMachine machine = round_machine();
  machine.host = Bytes(33ll << 20);
  machine.hbm = Bytes(1 << 20);
  const Predictor predictor(tiny_job(), machine, {}, Residency::host);
  const PlanRelaxation relaxation(predictor, {});
  for (const std::int64_t rounds : relaxation.rounds()) {
    RelaxedNode node;
    node.rounds = rounds;
    EXPECT_FALSE(relaxation.solve(node).feasible);
  }
}

TEST(PlanRelaxation, PinsTakeChoicesAway) {
  const Predictor predictor(tiny_job(), round_machine(), {});
  const PlanRelaxation pinned(predictor, [](Plan& plan) {
    for (std::size_t i = 1; i + 1 < plan.units.size(); ++i) plan.units[i].keep = Keep::input;
    plan.rounds = 2;
    plan.micro_batches_per_round = 2;
  });
  EXPECT_EQ(pinned.rounds(), std::vector<std::int64_t>{2});
  EXPECT_EQ(pinned.record_choices(2).size(), 2u);
}

}  // namespace
}  // namespace sluice::planner
