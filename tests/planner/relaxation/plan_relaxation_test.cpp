#include "planner/relaxation/plan_relaxation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>
#include <string>

#include "planner/plans/random_plan.hpp"
#include "planner/predictions/plan_estimate.hpp"
#include "planner/relaxation/proven_bound.hpp"
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
    for (int which = 0; which < 7; ++which) {
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
      if (which == 5) {  // Both ways slow each other and what computes.
        machine.profile.interference = {{"compute", "h2d", test::measured(0.9)},
                                        {"compute", "d2h", test::measured(0.8)},
                                        {"h2d", "d2h", test::measured(0.7)},
                                        {"d2h", "h2d", test::measured(0.8)},
                                        {"h2d", "cpu", test::measured(0.9)}};
        machine.profile.h2d.value /= 4;
        machine.profile.d2h.value /= 4;
      }
      if (which == 6) {  // More threads suffer more from copies.
        machine.profile.interference = {{"cpu", "h2d", test::measured(0.9), 1},
                                        {"cpu", "h2d", test::measured(0.7), 4},
                                        {"cpu", "d2h", test::measured(0.8), 1},
                                        {"cpu", "d2h", test::measured(0.5), 4}};
        for (auto& [threads, rate] : machine.profile.update) rate.value /= 4;
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
      const double rate = machine.profile.h2d.value;
      machine.profile.fabric =
          Fabric{.latency = test::measured(1e-5),
                 .gather = {{1e3, test::measured(rate)}, {1e6, test::measured(3 * rate)}},
                 .exchange = {{1e4, test::measured(2 * rate)}},
                 .interference = {{"compute", "fabric", test::measured(0.8)},
                                  {"fabric", "compute", test::measured(0.7)},
                                  {"fabric", "h2d", test::measured(0.9)}}};
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
             << machine.profile.h2d.value << " d2h " << machine.profile.d2h.value;
        body(TightPlan{plan, to_seconds(score.step),
                       Predictor(job, tight, {}, Residency::automatic, {}, ranks), text.str()});
        ++count;
      }
    }
  }
  return count;
}

TEST(PlanRelaxation, NoRandomPlanThatFitsBeatsTheBoundOfItsRounds) {
  const int checked = for_tight_plans(60, std::nullopt, [](const TightPlan& tight) {
    const Seconds bound = least_bound(tight.predictor, tight.plan.rounds);
    EXPECT_LE(bound.count(), tight.step.count() * (1 + 1e-9)) << tight.text;
  });
  EXPECT_GT(checked, 1000);
}

/// Sums of groups take time and memory that differ from round to round.
TEST(PlanRelaxation, NoRandomPlanOfGroupsBeatsItsBoundsOrExceedsItsOwnMemory) {
  for (const std::int64_t groups : {2, 3, 6}) {
    const int checked = for_tight_plans(
        12, 6,
        [](const TightPlan& tight) {
          const Seconds bound = least_bound(tight.predictor, tight.plan.rounds);
          EXPECT_LE(bound.count(), tight.step.count() * (1 + 1e-9)) << tight.text;
          const PlanRelaxation relaxation(tight.predictor, {});
          const auto exceeded = relaxation.exceeded(tight.plan);
          EXPECT_FALSE(exceeded.has_value())
              << tight.text << " of " << (exceeded ? to_string(*exceeded) : "");
          EXPECT_LE(relaxation.bound_of(tight.plan).count(), tight.step.count() * (1 + 2e-3))
              << tight.text;
        },
        groups);
    EXPECT_GT(checked, 200);
  }
}

/// A rank moves slices, gathers weights, and has its share of host memory and cores.
TEST(PlanRelaxation, NoRandomPlanOfRanksBeatsItsBoundsOrExceedsItsOwnMemory) {
  for (const std::int64_t ranks : {2, 4}) {
    for (const std::int64_t groups : {ranks, 2 * ranks}) {
      const int checked = for_tight_plans(
          12, 4 * ranks,
          [](const TightPlan& tight) {
            const Seconds bound = least_bound(tight.predictor, tight.plan.rounds);
            EXPECT_LE(bound.count(), tight.step.count() * (1 + 1e-9)) << tight.text;
            const PlanRelaxation relaxation(tight.predictor, {});
            const auto exceeded = relaxation.exceeded(tight.plan);
            EXPECT_FALSE(exceeded.has_value())
                << tight.text << " of " << (exceeded ? to_string(*exceeded) : "");
            EXPECT_LE(relaxation.bound_of(tight.plan).count(), tight.step.count() * (1 + 2e-3))
                << tight.text;
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

/// Far sharper than the bound of a space: each plan against the constraints of its own counts.
TEST(PlanRelaxation, EveryRandomPlanFitsItsOwnMemoryAndIsNoFasterThanItsOwnCounts) {
  int staged = 0, embeds = 0, waiting = 0;
  const int checked = for_tight_plans(80, 6, [&](const TightPlan& tight) {
    const PlanRelaxation relaxation(tight.predictor, {});
    const auto exceeded = relaxation.exceeded(tight.plan);
    EXPECT_FALSE(exceeded.has_value())
        << tight.text << " of " << (exceeded ? to_string(*exceeded) : "");
    // The third step, which is what counts, may leave a store to the fourth.
    EXPECT_LE(relaxation.bound_of(tight.plan).count(), tight.step.count() * (1 + 2e-3))
        << tight.text;
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

/// Each plan is in one of the parts that its number of rounds is split into.
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

/// Nodes that a node is split into are all of it: none is less than the bound of the whole, and no
/// plan is below the least of them.
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

/// In a node that cannot be split, every choice is made by a whole number of blocks, and ranges
/// hold.
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

/// Weights that are pinned to the host may all stay in the ring, and are then loaded once a step.
TEST(PlanRelaxation, PinnedWeightsThatStayInTheRingAreNotBelowTheBound) {
  ResolvedMachine machine = round_machine();
  machine.profile.h2d.value /= 20;
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
