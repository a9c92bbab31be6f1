// All ranks of a host in one simulation, beside one rank with its share of what they have in
// common.
#include "planner/graph/every_rank.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "planner/graph/step_builder.hpp"
#include "planner/models/slices.hpp"
#include "planner/plans/random_plan.hpp"
#include "planner/predictions/predict.hpp"
#include "tests/planner/round_machine.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

using test::measured;

/// A machine whose host memory and cores several ranks fill, and whose lanes slow each other.
MachineProfile crowded_profile() {
  MachineProfile profile = test::round_profile(DeviceKind::cuda);
  profile.dram = measured(45e6);
  profile.h2d_dram = measured(1.3);
  profile.d2h_dram = measured(1.7);
  profile.update_dram = measured(28);
  profile.update = {{1, measured(0.5e6)}, {4, measured(1.6e6)}, {8, measured(1.9e6)}};
  profile.cores = measured(8);
  profile.interference.push_back({LaneKind::cpu, LaneKind::h2d, measured(0.9)});
  profile.fabric = Fabric{.latency = measured(1e-4),
                          .gather = {{1e4, measured(5e6)}, {1e6, measured(30e6)}},
                          .exchange = {{1e4, measured(10e6)}},
                          .interference = {{LaneKind::compute, LaneKind::fabric, measured(0.8)}}};
  return profile;
}

Job job_of(std::int64_t groups) {
  Job job = test::tiny_job();
  job.batch_size = 12;
  job.groups = groups;
  return job;
}

/// Puts the state of all units on the disk, with gradients that wait on the host.
void move_to_disk(Plan& plan) {
  for (UnitPlan& unit : plan.units) {
    unit = {
        .state = Tier::disk, .keep = unit.keep, .keep_tier = unit.keep_tier, .when = When::after};
  }
}

TEST(EveryRank, EqualRanksAgreeWithOneRanksShareToTheMicrosecond) {
  MachineProfile profile = crowded_profile();
  profile.disk_read = measured(9e6);
  profile.disk_write = measured(7e6);
  profile.disk_both = measured(12e6);
  const ProfileCostModel costs(profile, {});
  for (const std::int64_t ranks : {2, 3, 4}) {
    const Job job = job_of(ranks == 3 ? 6 : 4);
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      Plan plan = random_plan(job, seed, ranks);
      const bool on_disk = seed % 2 == 1;
      if (on_disk) move_to_disk(plan);
      const auto shared = shared_links(costs, plan);
      EXPECT_EQ(shared, on_disk ? (std::set<std::string>{"cores", "disk", "disk_read", "disk_write",
                                                         "dram"})
                                : (std::set<std::string>{"cores", "dram"}));
      const StepGraph one = write_step_graph(job, plan, costs);
      const std::vector<RankGraph> same(static_cast<std::size_t>(ranks), RankGraph{&one.graph});
      const EveryRank all = every_rank(same, shared);
      const sim::Timeline alone = sim::simulate(one.graph), together = sim::simulate(all.graph);
      std::int64_t apart = 0;
      for (std::size_t rank = 0; rank < same.size(); ++rank) {
        for (std::size_t i = 0; i < one.graph.tasks().size(); ++i) {
          const Instant end = together.spans[sim::index(all.task(rank, i))].end;
          apart = std::max(apart, std::abs((end - alone.spans[i].end).count()));
        }
      }
      EXPECT_LE(apart, 1000) << ranks << " ranks, plan " << seed;
    }
  }
}

TEST(EveryRank, ASlowRankHoldsUpAllOthersWhichWaitForIt) {
  const Job job = job_of(4);
  const ProfileCostModel costs(crowded_profile(), {});
  Plan plan = uniform_plan(part_of_rank(job, 4),
                           UnitPlan{.weights = Tier::hbm,
                                    .gradients = Tier::hbm,
                                    .state = Tier::hbm,
                                    .executor = Executor::gpu,
                                    .when = When::after},
                           1);
  plan.ranks = 4;
  const auto step = [&](const std::array<RankOfHost, 4>& ranks) {
    return simulate_every_rank(job, plan, ranks);
  };
  const RankOfHost usual{&costs}, slow{.costs = &costs, .speed = 0.5};
  const EveryRankStep even = step({usual, usual, usual, usual});
  const EveryRankStep uneven = step({usual, usual, slow, usual});
  const EveryRankStep all_slow = step({slow, slow, slow, slow});
  EXPECT_EQ(even.waits, std::vector<Duration>(4, Duration{0}));
  EXPECT_GT(uneven.step, even.step);
  EXPECT_LE(uneven.step, all_slow.step + Duration(1000));
  EXPECT_EQ(std::ranges::min_element(uneven.waits) - uneven.waits.begin(), 2);
  // The others wait for about what the slow rank takes more.
  EXPECT_GT(uneven.waits[0], (uneven.step - even.step) / 2);
}

TEST(EveryRank, AMemoryOfItsOwnForEveryNodeIsSharedByItsRanksAlone) {
  const Job job = job_of(4);
  MachineProfile narrow = crowded_profile();
  scale_by(narrow.dram, 0.25);
  const ProfileCostModel costs(crowded_profile(), {}), narrow_costs(narrow, {});
  Plan plan = uniform_plan(part_of_rank(job, 4), UnitPlan{}, 1);
  plan.ranks = 4;
  const auto step = [&](const ProfileCostModel& second) {
    return simulate_every_rank(
        job, plan,
        std::array<RankOfHost, 4>{{{&costs, 0}, {&costs, 0}, {&second, 1}, {&second, 1}}});
  };
  const EveryRankStep even = step(costs), uneven = step(narrow_costs);
  EXPECT_GT(uneven.step, even.step);
  EXPECT_GT(std::min(uneven.waits[0], uneven.waits[1]), std::max(uneven.waits[2], uneven.waits[3]));
}

}  // namespace
}  // namespace sluice::planner
