// When the search puts state and gradients on the disk, and what bounds it there.
#include "planner/search/disk_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "planner/effort/search_settings.hpp"
#include "planner/search/disk_shares.hpp"
#include "planner/search/remedies.hpp"
#include "tests/planner/disk_jobs.hpp"

namespace sluice::planner {
namespace {

using test::all_on_disk;
using test::disk_machine;
using test::padded;
using test::random_disk_plan;
using test::tiny_job;

TEST(DiskBound, NoPlanBeatsIt) {
  const Job job = tiny_job();
  ResolvedMachine machine = disk_machine(200e3, 100e3);
  const std::int64_t state = 12 * padded(job);
  machine.hbm = Bytes(state / 4);
  machine.host = Bytes(state / 4);
  const Bound bound =
      bound_of(job, ProfileCostModel(machine.profile, {}), machine, Residency::automatic);
  // Half of the state fits nowhere else, and is written once a step.
  const double least = static_cast<double>(state - state / 4 * 2) / 100e3;
  EXPECT_NEAR(bound.each[static_cast<std::size_t>(BoundBy::disk)].count(), least, 0.01 * least);
  machine.hbm = machine.host = Bytes(1ll << 30);
  const Predictor roomy(job, machine, {});
  EXPECT_EQ(roomy.bound().each[static_cast<std::size_t>(BoundBy::disk)], Seconds(0));
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Plan plan = random_disk_plan(job, seed, ~0ull);
    EXPECT_GE(to_seconds(roomy.score(plan).step), roomy.bound().time * (1 - 1e-9));
  }
}

SearchSettings quick_search() {
  return {.pins = {}, .effort = 400'000, .threads = 2, .exhaustive = 1000};
}

/// A host that holds about half of the state.
ResolvedMachine short_host(const Job& job) {
  ResolvedMachine machine = disk_machine();
  machine.hbm = Bytes(4 << 20);
  const Predictor roomy(job, machine, {});
  const Memory all = roomy.predict(all_on_disk(job, Tier::host)).prediction.memory;
  machine.host = at(all, Tier::host).peak - Bytes(6 * padded(job));
  return machine;
}

/// State much larger than the slots that it passes through.
Job deep_job() {
  Job job = tiny_job();
  job.model.layers = 12;
  return job;
}

TEST(DiskSearch, TakesTheDiskOnlyWhereMemoryIsShortAndTheDiskIsLent) {
  const Job job = deep_job();
  ResolvedMachine machine = short_host(job);
  const auto found = search(Predictor(job, machine, {}, Residency::host), quick_search());
  ASSERT_TRUE(std::holds_alternative<Planned>(found));
  const Planned& planned = std::get<Planned>(found);
  EXPECT_TRUE(planned.best.prediction.fits);
  EXPECT_TRUE(uses_disk(planned.best.prediction.plan));
  EXPECT_GE(to_seconds(planned.best.prediction.step), planned.bound);
  EXPECT_GE(planned.optimality_gap, 0);

  machine.state_on_disk = false;
  EXPECT_TRUE(std::holds_alternative<Infeasible>(
      search(Predictor(job, machine, {}, Residency::host), quick_search())));

  machine.state_on_disk = true;
  machine.host = Bytes(1ll << 30);
  const auto roomy = search(Predictor(job, machine, {}, Residency::host), quick_search());
  EXPECT_FALSE(uses_disk(std::get<Planned>(roomy).best.prediction.plan));
}

TEST(DiskSearch, SeveralRanksKeepTheirSlicesOnOneDrive) {
  Job job = deep_job();
  job.batch_size = 8;
  job.groups = 4;
  ResolvedMachine machine = short_host(job);
  machine.profile.fabric = Fabric{.latency = test::measured(1e-4),
                                  .gather = {{1e4, test::measured(1e6)}},
                                  .exchange = {{1e4, test::measured(2e6)}}};
  const Predictor two(job, machine, {}, Residency::host, {}, 2);
  const auto found = search(two, quick_search());
  ASSERT_TRUE(std::holds_alternative<Planned>(found));
  const Prediction& best = std::get<Planned>(found).best.prediction;
  EXPECT_TRUE(best.fits);
  EXPECT_EQ(best.plan.ranks, 2);
  EXPECT_TRUE(uses_disk(best.plan));
  EXPECT_GE(to_seconds(best.step), std::get<Planned>(found).bound);
  // The drive holds about the bytes of one rank's plan, in two files.
  Plan alone = best.plan;
  alone.ranks = 1;
  alone.micro_batches_per_round = job.micro_batches() / alone.rounds;
  const Predictor one(job, machine, {}, Residency::host);
  const Bytes whole = at(one.predict(alone).prediction.memory, Tier::disk).peak;
  const Bytes both = at(best.memory, Tier::disk).peak;
  EXPECT_GE(both, whole);
  EXPECT_LE(both, whole * 2);
}

TEST(DiskSearch, GradientsFollowOnceAllStateIsThere) {
  const Job job = deep_job();
  ResolvedMachine machine = disk_machine();
  machine.hbm = Bytes(4 << 20);
  const Predictor roomy(job, machine, {}, Residency::host);
  Plan state = all_on_disk(job);
  state.disk_buffers = 2;
  state.disk_buffer = Bytes(64 << 20);
  const Bytes enough = at(roomy.predict(state).prediction.memory, Tier::host).peak;
  // Half of the gradients' room is missing, and they may not wait on the device.
  machine.host = enough - Bytes(2 * padded(job));
  SearchSettings settings = quick_search();
  settings.pins = [](Plan& plan) {
    for (UnitPlan& unit : plan.units) {
      if (unit.gradients == Tier::hbm) unit.gradients = Tier::host;
    }
  };
  const auto found = search(Predictor(job, machine, {}, Residency::host), settings);
  ASSERT_TRUE(std::holds_alternative<Planned>(found));
  const Prediction& best = std::get<Planned>(found).best.prediction;
  EXPECT_TRUE(best.fits);
  const auto waiting = std::ranges::count_if(
      best.plan.units, [](const UnitPlan& unit) { return unit.gradients == Tier::disk; });
  EXPECT_GT(waiting, 0);
  EXPECT_NE(disk_share_text(best.plan).find("gradients"), std::string::npos);
  for (const UnitPlan& unit : best.plan.units) EXPECT_EQ(unit.state, Tier::disk);
}

/// Plans that leave several sums of groups between rounds cannot let gradients wait on the disk.
TEST(DiskSearch, NoGradientWaitsThereBesideOtherSumsOfItsGroups) {
  Job job = tiny_job();
  ResolvedMachine machine = disk_machine();
  machine.hbm = Bytes(4 << 20);
  const Predictor roomy(job, machine, {}, Residency::host);
  Plan state = all_on_disk(job);
  state.disk_buffers = 2;
  const Bytes enough = at(roomy.predict(state).prediction.memory, Tier::host).peak;
  machine.host = enough - Bytes(2 * padded(job));
  SearchSettings settings = quick_search();
  settings.pins = [](Plan& plan) {
    plan.rounds = 4;
    plan.micro_batches_per_round = 1;
    for (UnitPlan& unit : plan.units) {
      if (unit.gradients == Tier::hbm) unit.gradients = Tier::host;
    }
  };
  const auto waiting = [&](std::int64_t groups) -> std::ptrdiff_t {
    job.groups = groups;
    const auto found = search(Predictor(job, machine, {}, Residency::host), settings);
    const auto* planned = std::get_if<Planned>(&found);
    if (planned == nullptr) return 0;
    const Plan& plan = planned->best.prediction.plan;
    return std::ranges::count(plan.units, Tier::disk, &UnitPlan::gradients);
  };
  EXPECT_GT(waiting(1), 0);
  EXPECT_EQ(waiting(4), 0);
}

TEST(DiskSearch, WeightsFollowOnceAllGradientsAreThere) {
  const Job job = deep_job();
  ResolvedMachine machine = disk_machine();
  machine.hbm = Bytes(4 << 20);
  const Predictor roomy(job, machine, {}, Residency::host);
  Plan waiting = all_on_disk(job, Tier::disk, Tier::disk);
  waiting.disk_buffers = 2;
  waiting.disk_buffer = Bytes(64 << 20);
  const Bytes enough = at(roomy.predict(waiting).prediction.memory, Tier::host).peak;
  // A quarter of the weights' room is missing.
  machine.host = enough - Bytes(padded(job) / 2);
  const Predictor predictor(job, machine, {}, Residency::host);
  const auto found = search(predictor, quick_search());
  ASSERT_TRUE(std::holds_alternative<Planned>(found));
  const Planned& planned = std::get<Planned>(found);
  const Prediction& best = planned.best.prediction;
  EXPECT_TRUE(best.fits);
  EXPECT_LE(at(best.memory, Tier::host).peak, machine.host);
  EXPECT_GE(to_seconds(best.step), planned.bound);
  const auto weights = std::ranges::count_if(
      best.plan.units, [](const UnitPlan& unit) { return unit.weights == Tier::disk; });
  EXPECT_GT(weights, 0);
  EXPECT_NE(disk_share_text(best.plan).find("weights"), std::string::npos);
  for (const UnitPlan& unit : best.plan.units) EXPECT_EQ(unit.state, Tier::disk);
}

TEST(DiskSearch, NoShareOfTheLayersIsMuchFasterThanTheOneFound) {
  const Job job = deep_job();
  const Predictor predictor(job, short_host(job), {}, Residency::host);
  const auto found = search(predictor, quick_search());
  ASSERT_TRUE(std::holds_alternative<Planned>(found));
  const Prediction& best = std::get<Planned>(found).best.prediction;
  // Every set of consecutive units, in the plan found: none that fits is much faster.
  int fitted = 0;
  for (std::size_t from = 0; from < best.plan.units.size(); ++from) {
    for (std::size_t to = from; to < best.plan.units.size(); ++to) {
      Plan plan = best.plan;
      for (std::size_t unit = 0; unit < plan.units.size(); ++unit) {
        if (plan.units[unit].executor == Executor::cpu) {
          plan.units[unit].state = unit >= from && unit <= to ? Tier::disk : Tier::host;
        }
      }
      const PlanScore score = predictor.score(plan);
      if (score.step.count() == 0) continue;
      ++fitted;
      EXPECT_GE(to_seconds(score.step), 0.97 * to_seconds(best.step)) << from << " to " << to;
    }
  }
  EXPECT_GT(fitted, 0);
}

TEST(DiskSearch, TakesFewRoundsWhereSumsAndWeightsWouldCrossASlowDisk) {
  Job job = deep_job();
  job.batch_size = 8;
  job.seq_len = 128;
  ResolvedMachine machine = disk_machine(1e6, 0.5e6);
  const auto in_rounds = [&job](Plan& plan, std::int64_t rounds) {
    plan.rounds = rounds;
    plan.micro_batches_per_round = job.micro_batches() / rounds;
  };
  const auto needs = [&](std::int64_t rounds, Tier tier) {
    Plan plan = all_on_disk(job, Tier::disk, Tier::disk, Tier::disk);
    in_rounds(plan, rounds);
    plan.disk_buffers = 2;
    plan.disk_buffer = Bytes(64 << 20);
    return at(Predictor(job, machine, {}).predict(plan).prediction.memory, tier).peak;
  };
  // Records of four micro-batches fit, those of eight do not; of the weights little does.
  machine.host = needs(8, Tier::host) + Bytes(padded(job) / 4);
  machine.hbm = needs(2, Tier::hbm);
  ASSERT_GT(needs(1, Tier::hbm), machine.hbm + Bytes(padded(job) / 4));
  const Predictor predictor(job, machine, {}, Residency::host);
  const auto found = search(predictor, quick_search());
  ASSERT_TRUE(std::holds_alternative<Planned>(found));
  const Prediction& best = std::get<Planned>(found).best.prediction;
  EXPECT_EQ(best.plan.rounds, 2);
  for (const std::int64_t rounds : {4, 8}) {
    SearchSettings settings = quick_search();
    settings.pins = [&](Plan& plan) { in_rounds(plan, rounds); };
    const auto other = search(predictor, settings);
    ASSERT_TRUE(std::holds_alternative<Planned>(other));
    EXPECT_GT(std::get<Planned>(other).best.prediction.step, best.step) << rounds << " rounds";
  }
}

TEST(DiskSearch, PinnedUnitsAreTheOnesOnTheDisk) {
  const Job job = tiny_job();
  SearchSettings settings = quick_search();
  settings.pins = [](Plan& plan) {
    plan.units[2].state = Tier::disk;
    plan.units[2].executor = Executor::cpu;
  };
  const auto found = search(Predictor(job, disk_machine(), {}), settings);
  ASSERT_TRUE(std::holds_alternative<Planned>(found));
  const Plan& plan = std::get<Planned>(found).best.prediction.plan;
  for (std::size_t unit = 0; unit < plan.units.size(); ++unit) {
    EXPECT_EQ(plan.units[unit].state == Tier::disk, unit == 2);
  }
}

TEST(DiskSearch, PinnedStateIsTheCpusToUpdateWhereTheDeviceWouldBeFaster) {
  const Job job = deep_job();
  ResolvedMachine machine = disk_machine();
  machine.profile.h2d = machine.profile.d2h = test::measured(10e9);
  machine.profile.device_update = test::measured(20e9);
  const auto by_device = [](const Plan& plan) {
    return std::ranges::count(plan.units, Executor::gpu, &UnitPlan::executor);
  };
  const Predictor predictor(job, machine, {}, Residency::host);
  const auto in_memory = search(predictor, quick_search());
  ASSERT_TRUE(std::holds_alternative<Planned>(in_memory));
  ASSERT_GT(by_device(std::get<Planned>(in_memory).best.prediction.plan), 0);
  for (const std::size_t every : {1, 2}) {
    SearchSettings settings = quick_search();
    settings.pins = [&](Plan& plan) {
      for (std::size_t unit = 0; unit < plan.units.size(); unit += every) {
        plan.units[unit].state = Tier::disk;
      }
    };
    const auto found = search(predictor, settings);
    ASSERT_TRUE(std::holds_alternative<Planned>(found)) << "every " << every;
    const Plan& plan = std::get<Planned>(found).best.prediction.plan;
    for (std::size_t unit = 0; unit < plan.units.size(); ++unit) {
      EXPECT_EQ(plan.units[unit].state == Tier::disk, unit % every == 0) << unit;
    }
  }
}

TEST(Remedies, NameTheShareOfLayersOnDisk) {
  const Job job = deep_job();
  ResolvedMachine machine = short_host(job);
  machine.state_on_disk = false;
  const Predictor predictor(job, machine, {}, Residency::host);
  const auto found = search_or_remedy(predictor, {}, quick_search());
  ASSERT_TRUE(std::holds_alternative<Infeasible>(found));
  const Infeasible& infeasible = std::get<Infeasible>(found);
  EXPECT_EQ(infeasible.tier, Tier::host);
  ASSERT_FALSE(infeasible.remedies.empty());
  const Remedy& disk = infeasible.remedies.front();
  EXPECT_NE(disk.what.find("of 12 layers"), std::string::npos) << disk.what;
  EXPECT_NE(disk.what.find("on disk: +"), std::string::npos) << disk.what;
  EXPECT_EQ(disk.setting.rfind("--disk ", 0), 0u) << disk.setting;
  EXPECT_FALSE(disk.changes_bits);
  machine.state_on_disk = true;
  const Predictor on_disk(job, machine, {}, Residency::host);
  const auto plan = fitting_on_disk(on_disk, infeasible.short_by, quick_search());
  ASSERT_TRUE(plan.has_value());
  const Prediction predicted = on_disk.predict(plan->plan).prediction;
  EXPECT_TRUE(predicted.fits);
  EXPECT_EQ(predicted.step, disk.step);
  // A search takes that plan, or finds a faster one.
  EXPECT_LE(std::get<Planned>(search(on_disk, quick_search())).best.prediction.step, disk.step);
}

TEST(Remedies, OfADiskThatIsTooSmallIsALargerOne) {
  const Job job = deep_job();
  ResolvedMachine machine = short_host(job);
  machine.state_on_disk = true;
  machine.disk = Bytes(1 << 20);
  const auto found =
      search_or_remedy(Predictor(job, machine, {}, Residency::host), {}, quick_search());
  ASSERT_TRUE(std::holds_alternative<Infeasible>(found));
  const Infeasible& infeasible = std::get<Infeasible>(found);
  EXPECT_EQ(infeasible.tier, Tier::disk);
  ASSERT_FALSE(infeasible.remedies.empty());
  EXPECT_TRUE(infeasible.remedies.front().setting.starts_with("--disk "));
}

}  // namespace
}  // namespace sluice::planner
