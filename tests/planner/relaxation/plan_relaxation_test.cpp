#include "planner/relaxation/plan_relaxation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "planner/plans/random_plan.hpp"
#include "planner/relaxation/proven_bound.hpp"
#include "tests/planner/relaxation/uneven_machines.hpp"

namespace sluice::planner {
namespace {

using test::round_machine;
using test::tiny_job;
using test::uneven_machines;

TEST(PlanRelaxation, SumsOfGroupsThatWaitBetweenRoundsTakeMemory) {
  Job job = tiny_job();
  job.batch_size = 6;
  for (const bool on_device : {true, false}) {
    UnitPlan unit;
    if (on_device) {
      unit = {.weights = Tier::hbm,
              .gradients = Tier::hbm,
              .state = Tier::hbm,
              .executor = Executor::gpu,
              .when = When::after};
    }
    const Plan plan = uniform_plan(job, unit, 6);
    ResolvedMachine machine = round_machine();
    job.groups = 1;
    const PlanScore score = Predictor(job, machine, {}).score(plan);
    (on_device ? machine.hbm : machine.host) = on_device ? score.hbm : score.host;
    const auto exceeded = [&](std::int64_t groups) {
      job.groups = groups;
      const Predictor predictor(job, machine, {});
      return PlanRelaxation(predictor, {}).exceeded(plan);
    };
    EXPECT_EQ(exceeded(1), std::nullopt);
    // After four of six micro-batches two sums wait: of the first group, and of the second so far.
    EXPECT_EQ(exceeded(2), on_device ? Limit::hbm_at_loss : Limit::host_at_loss);
  }
}

TEST(PlanRelaxation, PartsOfANodeAreNoLessThanIt) {
  int split = 0, sized = 0;
  for (const ResolvedMachine& machine : uneven_machines()) {
    const Predictor predictor(tiny_job(), machine, {});
    const PlanRelaxation relaxation(predictor, {});
    std::vector<RelaxedPart> parts;
    Seconds least(1e9);
    for (const std::int64_t rounds : relaxation.rounds()) {
      RelaxedNode node;
      node.rounds = rounds;
      const RelaxedPlan relaxed = relaxation.solve(node);
      if (!relaxed.feasible) continue;
      least = std::min(least, relaxed.bound);
      parts.push_back({node, relaxed});
      for (const RelaxedNode& part : relaxation.split(node, relaxed)) {
        const RelaxedPlan of_part = relaxation.solve(part);
        // With boost prices are of sustained times, and what they prove of others varies.
        if (of_part.feasible && !predictor.costs().boost()) {
          EXPECT_GE(of_part.bound, relaxed.bound * (1 - 1e-6));
        }
        ++split;
        sized += part.largest_record.has_value() ? 1 : 0;
      }
    }
    ProvenBound by_parts(relaxation, parts);
    const Seconds early = by_parts.improve(20);
    EXPECT_GE(early, least);
    const Seconds proven = by_parts.improve(1000);
    EXPECT_GE(proven, early);
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      const Seconds step = to_seconds(predictor.score(random_plan(predictor.job(), seed)).step);
      if (step.count() == 0) continue;
      EXPECT_LE(proven.count(), step.count() * (1 + 1e-9)) << seed;
    }
  }
  EXPECT_GT(split, 20);
  EXPECT_GT(sized, 20);
}

// Layers with windows, and layers of another width whose weights, records and times differ.
TEST(PlanRelaxation, IsNoMoreThanStepsOfModelsWithLayersOfSeveralKinds) {
  Job job = tiny_job();
  job.model.kinds = {LayerKind{}, LayerKind{.window = job.seq_len / 2},
                     LayerKind{.dense_intermediate = 3 * job.model.intermediate}};
  job.model.kind_of_layer.clear();
  for (std::int64_t layer = 0; layer < job.model.layers; ++layer) {
    job.model.kind_of_layer.push_back(static_cast<std::uint8_t>(layer % 3));
  }
  int compared = 0;
  const std::vector<ResolvedMachine> machines = uneven_machines();
  for (std::size_t i = 0; i < machines.size(); i += 3) {
    const Predictor predictor(job, machines[i], {});
    const PlanRelaxation relaxation(predictor, {});
    std::vector<RelaxedPart> parts;
    for (const std::int64_t rounds : relaxation.rounds()) {
      RelaxedNode node;
      node.rounds = rounds;
      const RelaxedPlan relaxed = relaxation.solve(node);
      if (relaxed.feasible) parts.push_back({node, relaxed});
    }
    const Seconds proven = ProvenBound(relaxation, parts).improve(10);
    EXPECT_GT(proven.count(), 0);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Seconds step = to_seconds(predictor.score(random_plan(job, seed)).step);
      if (step.count() == 0) continue;
      EXPECT_LE(proven.count(), step.count() * (1 + 1e-9)) << seed;
      ++compared;
    }
  }
  EXPECT_GT(compared, 10);
}

TEST(PlanRelaxation, WhereNothingIsLeftToSplitBlocksAreWhole) {
  int counted = 0;
  for (const ResolvedMachine& machine : uneven_machines()) {
    const Predictor predictor(tiny_job(), machine, {});
    const PlanRelaxation relaxation(predictor, {});
    for (const std::int64_t rounds : relaxation.rounds()) {
      RelaxedNode node;
      node.rounds = rounds;
      RelaxedPlan relaxed = relaxation.solve(node);
      for (bool more = relaxed.feasible; more;) {
        more = false;
        for (const RelaxedNode& part : relaxation.split(node, relaxed)) {
          RelaxedPlan of_part = relaxation.solve(part);
          if (!of_part.feasible) continue;
          node = part;
          relaxed = std::move(of_part);
          more = true;
          break;
        }
      }
      if (!relaxed.feasible || !relaxation.split(node, relaxed).empty()) continue;
      for (const auto* counts : {&relaxed.records, &relaxed.residencies}) {
        const auto& ranges = counts == &relaxed.records ? node.records : node.residencies;
        for (std::size_t i = 0; i < counts->size(); ++i) {
          const double count = (*counts)[i];
          EXPECT_NEAR(count, std::round(count), 1e-3);
          if (ranges.empty()) continue;
          EXPECT_GE(count, ranges[i].least - 1e-6);
          EXPECT_LE(count, ranges[i].most + 1e-6);
          ++counted;
        }
      }
    }
  }
  EXPECT_GT(counted, 20);
}

TEST(PlanRelaxation, NoPlanHasCountsThatDoNotAddUp) {
  const Predictor predictor(tiny_job(), round_machine(), {});
  const PlanRelaxation relaxation(predictor, {});
  RelaxedNode node;
  node.rounds = relaxation.rounds().front();
  const auto layers = static_cast<double>(predictor.job().model.layers);
  const Seconds free = relaxation.solve(node).bound;
  node.residencies.assign(relaxation.residency_choices(1, node.rounds).size(), CountRange{});
  node.residencies.front().least = layers;
  EXPECT_GE(relaxation.solve(node).bound, free * (1 - 1e-6)) << "all blocks make the first";
  EXPECT_NEAR(relaxation.solve(node).residencies.front(), layers, 1e-6);
  node.residencies.front().least = layers + 1;
  EXPECT_FALSE(relaxation.solve(node).feasible);
  node.residencies.assign(node.residencies.size(), CountRange{.least = 0, .most = 0});
  EXPECT_FALSE(relaxation.solve(node).feasible);
}

TEST(PlanRelaxation, PinnedWeightsThatStayInTheRingAreNotBelowTheBound) {
  ResolvedMachine machine = round_machine();
  scale_by(machine.profile.h2d, 1.0 / 20);
  const Predictor predictor(tiny_job(), machine, {});
  const auto stream = [](Plan& plan) {
    for (UnitPlan& unit : plan.units) unit.weights = Tier::host;
  };
  Plan plan = uniform_plan(predictor.job(), {}, 2);
  stream(plan);
  set_weight_buffers(plan, predictor.job().model.layers);
  const PlanRelaxation relaxation(predictor, stream);
  RelaxedNode node;
  node.rounds = 2;
  const double step = to_seconds(predictor.score(plan).step).count();
  EXPECT_GT(step, 0);
  EXPECT_LE(relaxation.solve(node).bound.count(), step);
  EXPECT_LE(relaxation.bound_of(plan).count(), step);
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
