// Search against brute force on spaces small enough to try every plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "planner/graph/record.hpp"
#include "planner/layout/collective_memory.hpp"
#include "planner/relaxation/plan_relaxation.hpp"
#include "planner/search/search.hpp"
#include "sim/error.hpp"
#include "tests/planner/round_machine.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

using test::round_machine;

/// A reduced problem: a small job, a machine on which something is scarce, most fields pinned.
struct Problem {
  Job job;
  ResolvedMachine machine;
  Pins pins;
};

/// Draws without the standard library's distributions.
struct Draw {
  std::uint64_t state;
  std::int64_t below(std::int64_t n) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(n));
  }
  double between(double low, double high) {
    return low + (high - low) * static_cast<double>(below(1000)) / 1000;
  }
};

/// A problem of `ranks` ranks, each with two micro-batches in a group.
Problem problem(std::uint64_t seed, std::int64_t ranks = 1) {
  Draw draw{seed * 77 + 5};
  Problem made;
  made.job = test::tiny_job(draw.below(4) == 0);
  made.job.model.layers = 1 + draw.below(2);
  made.job.batch_size = 2 * ranks;
  made.job.groups = ranks;
  if (draw.below(4) == 0) made.job.optimizer.clip.reset();
  made.machine = round_machine(DeviceKind::cuda);
  MachineProfile& profile = made.machine.profile;
  scale_by(profile.h2d, draw.between(0.3, 3));
  scale_by(profile.d2h, draw.between(0.3, 3));
  for (auto& [threads, rate] : profile.update) rate.value *= draw.between(0.3, 3);
  if (ranks > 1) {
    profile.dram = test::measured(draw.between(40e6, 400e6));
    profile.h2d_dram = profile.d2h_dram = test::measured(1);
    profile.update_dram = test::measured(28);
    const CurvePoint fabric{1e5, test::measured(draw.between(10e6, 1e9))};
    profile.fabric =
        Fabric{.latency = test::measured(1e-5), .gather = {fabric}, .exchange = {fabric}};
  }
  made.machine.host = Bytes(8ll << 30);
  made.machine.hbm = outside_arena_bytes(made.job, profile) +
                     workspace_bytes(made.job, DeviceKind::cuda) +
                     collective_bytes(DeviceKind::cuda, ranks) +
                     Bytes(static_cast<std::int64_t>(draw.between(0.25e6, 2.5e6)));
  const When when = made.job.optimizer.clip ? When::forward : When::backward;
  const std::int64_t rounds = draw.below(3);
  const auto streams = kFewestStreams + static_cast<std::int64_t>(draw.below(2));
  made.pins = [when, rounds, streams](Plan& plan) {
    plan.weight_buffers = plan.gradient_buffers = plan.activation_buffers = 2;
    plan.prefetch_depth = 1;
    plan.state_buffers = 0;
    plan.stream_buffers = streams;
    plan.threads = 1;
    plan.copy_chunk = Bytes(0);
    plan.receive_buffers = 1;
    plan.exchange_piece = Bytes(64 << 20);
    if (rounds > 0) {
      plan.rounds = rounds;
      plan.micro_batches_per_round = 2 / rounds;
    }
    for (UnitPlan& unit : plan.units) {
      unit.staging = Staging::whole;
      if (unit.executor == Executor::cpu) unit.when = when;
      if (unit.executor == Executor::gpu) unit.when = When::after;
    }
    // Embedding and head are the CPU's.
    for (UnitPlan* end : {&plan.units.front(), &plan.units.back()}) {
      *end = UnitPlan{};
      end->when = when;
    }
  };
  return made;
}

std::vector<UnitPlan> block_choices(std::int64_t ranks) {
  std::vector<UnitPlan> all;
  for (const Keep keep : {Keep::input, Keep::selective, Keep::all}) {
    for (const Tier keep_tier : {Tier::hbm, Tier::host}) {
      for (const Tier weights : {Tier::hbm, Tier::host}) {
        for (const Tier gradients : {Tier::hbm, Tier::host}) {
          for (const Tier state : {Tier::hbm, Tier::host}) {
            for (const Executor executor : {Executor::cpu, Executor::gpu}) {
              UnitPlan unit{weights, gradients, state, keep, keep_tier, executor, When::after};
              if (rotates_state(unit)) continue;  // Only in a ring is it searched.
              all.push_back(unit);
              unit.resident = Extent::slice;
              const bool held = weights == Tier::hbm && executor == Executor::gpu;
              if (ranks > 1 && held) all.push_back(unit);
            }
          }
        }
      }
    }
  }
  return all;
}

/// The fastest of every plan that fits, each simulated; zero where none does.
Duration brute_force(const Predictor& predictor, const Pins& pins, std::int64_t& plans) {
  const Job& job = predictor.job();
  const std::vector<UnitPlan> choices = block_choices(predictor.ranks());
  Duration best{0};
  std::set<std::string> seen;
  const auto blocks = static_cast<std::size_t>(job.model.layers);
  std::size_t all = 1;
  for (std::size_t i = 0; i < blocks; ++i) all *= choices.size();
  for (const std::int64_t rounds : {1, 2}) {
    for (std::size_t code = 0; code < all; ++code) {
      Plan plan = predictor.plan_of({}, rounds);
      for (std::size_t i = 0, rest = code; i < blocks; ++i, rest /= choices.size()) {
        plan.units[i + 1] = choices[rest % choices.size()];
      }
      pins(plan);
      try {
        validate(plan, job);
      } catch (const BadRequest&) {
        continue;
      }
      if (!seen.insert(plan_hash(plan)).second) continue;
      ++plans;
      const PlanScore score = predictor.score(plan);
      if (score.step.count() > 0 && (best.count() == 0 || score.step < best)) best = score.step;
    }
  }
  return best;
}

TEST(SearchProof, SearchIsBruteForceOnTwoHundredReducedProblems) {
  std::vector<double> ratios;
  int cut_short = 0;
  std::int64_t plans = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Problem small = problem(seed);
    // Two blocks only now and then: each of them squares the space.
    if (seed % 10 != 0) small.job.model.layers = 1;
    const Predictor predictor(small.job, small.machine, {});
    const Duration best = brute_force(predictor, small.pins, plans);
    const auto found = search(
        predictor, {.pins = small.pins, .effort = 0, .threads = 2, .exhaustive = kSmallSpace});
    const auto* planned = std::get_if<Planned>(&found);
    ASSERT_EQ(planned != nullptr, best.count() > 0) << "seed " << seed;
    if (planned == nullptr) continue;
    EXPECT_EQ(planned->best.prediction.step, best) << "seed " << seed;
    EXPECT_EQ(planned->optimality_gap, 0) << "seed " << seed;
    EXPECT_LE(planned->relaxed_bound.count(), to_seconds(best).count() * (1 + 1e-9)) << seed;
    ratios.push_back(planned->relaxed_bound.count() / to_seconds(best).count());
    // Cut short, the gap is honest: nothing is faster than it allows.
    const auto early =
        search(predictor, {.pins = small.pins, .effort = 1, .threads = 2, .exhaustive = 0});
    if (const auto* cut = std::get_if<Planned>(&early)) {
      const double allowed =
          to_seconds(cut->best.prediction.step).count() * (1 - cut->optimality_gap);
      EXPECT_GE(to_seconds(best).count() * (1 + 1e-9), allowed) << "seed " << seed;
      ++cut_short;
    }
  }
  EXPECT_GT(cut_short, 100);
  ASSERT_GT(ratios.size(), 100u);
  std::sort(ratios.begin(), ratios.end());
  RecordProperty("median_bound_over_best", std::to_string(ratios[ratios.size() / 2]));
  EXPECT_GT(ratios[ratios.size() / 2], 0.9);
  EXPECT_GT(plans, 10'000);
}

TEST(SearchProof, SearchIsBruteForceWhereRanksMayPullWeights) {
  int pulled = 0, gathered = 0;
  std::int64_t plans = 0;
  for (std::uint64_t seed = 100; seed < 130; ++seed) {
    Problem small = problem(seed, 2);
    small.job.model.layers = 1;
    MachineProfile& profile = small.machine.profile;
    profile.fabric->path = FabricPath::pcie;
    // Between a hundredth of the link's rate and three times as much.
    for (CurvePoint* point : {&profile.fabric->gather[0], &profile.fabric->exchange[0]}) {
      point->rate.value = profile.h2d.value * (seed % 3 == 0 ? 0.01 : seed % 3 == 1 ? 0.3 : 3);
    }
    const Predictor predictor(small.job, small.machine, {}, Residency::automatic, {}, 2);
    const auto pinned = [&](Gather gather) -> Pins {
      return [pins = small.pins, gather](Plan& plan) {
        pins(plan);
        plan.gather = gather;
      };
    };
    const Duration fabric = brute_force(predictor, pinned(Gather::fabric), plans);
    const Duration host = brute_force(predictor, pinned(Gather::host), plans);
    const auto found = search(
        predictor, {.pins = small.pins, .effort = 0, .threads = 2, .exhaustive = kSmallSpace});
    const auto* planned = std::get_if<Planned>(&found);
    ASSERT_EQ(planned != nullptr, fabric.count() > 0) << "seed " << seed;
    if (planned == nullptr) continue;
    const Duration best = host.count() > 0 ? std::min(fabric, host) : fabric;
    EXPECT_EQ(planned->best.prediction.step, best) << "seed " << seed;
    EXPECT_LE(planned->relaxed_bound.count(), to_seconds(best).count() * (1 + 1e-9)) << seed;
    EXPECT_EQ(planned->optimality_gap, 0) << "seed " << seed;
    const bool pulls = planned->best.prediction.plan.gather == Gather::host;
    if (host.count() > 0) {
      EXPECT_EQ(planned->other_gather, pulls ? fabric : host);
    }
    (pulls ? pulled : gathered) += 1;
    // A gather that is stated is the only one that is tried.
    const auto stated = search(predictor, {.pins = pinned(Gather::fabric), .effort = 1});
    if (const auto* only = std::get_if<Planned>(&stated)) {
      EXPECT_EQ(only->best.prediction.plan.gather, Gather::fabric);
      EXPECT_FALSE(only->other_gather);
    }
  }
  EXPECT_GT(pulled, 3);
  EXPECT_GT(gathered, 3);
}

TEST(SearchProof, SearchIsBruteForceForPlansOfRanks) {
  int found_best = 0, bounded = 0;
  std::int64_t plans = 0;
  for (const std::int64_t ranks : {2, 4}) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      Problem small = problem(seed, ranks);
      small.job.model.layers = 1;
      const Predictor predictor(small.job, small.machine, {}, Residency::automatic, {}, ranks);
      const Duration best = brute_force(predictor, small.pins, plans);
      const auto found = search(
          predictor, {.pins = small.pins, .effort = 0, .threads = 2, .exhaustive = kSmallSpace});
      const auto* planned = std::get_if<Planned>(&found);
      ASSERT_EQ(planned != nullptr, best.count() > 0) << "seed " << seed << " ranks " << ranks;
      if (planned == nullptr) continue;
      const Prediction& prediction = planned->best.prediction;
      EXPECT_EQ(prediction.plan.ranks, ranks);
      EXPECT_EQ(prediction.step, best) << "seed " << seed << " ranks " << ranks;
      EXPECT_LE(planned->relaxed_bound.count(), to_seconds(best).count() * (1 + 1e-9)) << seed;
      ++found_best;
      // The guided search's bound holds, too.
      const auto early =
          search(predictor, {.pins = small.pins, .effort = 1, .threads = 2, .exhaustive = 0});
      const auto* cut = std::get_if<Planned>(&early);
      if (cut == nullptr) continue;
      EXPECT_GE(cut->best.prediction.step, best);
      EXPECT_LE(cut->bound.count(), to_seconds(best).count() * (1 + 1e-9)) << "seed " << seed;
      ++bounded;
    }
  }
  EXPECT_GT(found_best, 30);
  EXPECT_GT(bounded, 30);
  EXPECT_GT(plans, 4'000);
}

}  // namespace
}  // namespace sluice::planner
