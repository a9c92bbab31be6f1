// Step graphs of several ranks: every rank executes the same graph on its own part of a step and
// its own slice of every unit.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "planner/files/hash.hpp"
#include "planner/graph/happens_before.hpp"
#include "planner/graph/step_sums.hpp"
#include "planner/layout/laid_out.hpp"
#include "planner/layout/layout.hpp"
#include "planner/models/slices.hpp"
#include "planner/plans/random_plan.hpp"
#include "tests/planner/graph/rank_memory.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

using test::RankMemory;
using test::RoundCosts;

Job job_of_groups(std::int64_t groups, std::uint64_t seed) {
  Job job = test::tiny_job(seed % 2 == 0);
  job.batch_size = groups == 6 ? 12 : 8;
  job.groups = groups;
  if (seed % 3 == 0) job.optimizer.clip.reset();
  if (seed % 5 == 0) job.compute = ComputeType::fp32;
  if (seed % 7 == 0) {
    job.model.family = Family::qwen3_moe;
    job.model.experts = Experts{.count = 4, .active = 2, .intermediate = 32};
    job.router_aux_loss_coef = 0.01;
  }
  return job;
}

StepGraph graph_of_ranks(const Job& job, const Plan& plan) {
  return build_step_graph(job, plan, RoundCosts());
}

std::string added_up(std::int64_t all, std::int64_t groups, std::int64_t first,
                     std::int64_t count) {
  if (count > 1) {
    const std::int64_t left = left_of_tree(count);
    return "(" + added_up(all, groups, first, left) + "+" +
           added_up(all, groups, first + left, count - left) + ")";
  }
  std::string text;
  for (std::int64_t m = first_of_group(all, groups, first);
       m < first_of_group(all, groups, first + 1); ++m) {
    text += (text.empty() ? "m" : " m") + std::to_string(m);
  }
  return text;
}

struct Case {
  std::int64_t groups, ranks, hosts = 1;
};
constexpr Case kCases[] = {{2, 2},    {4, 2},    {4, 4},    {8, 2},    {8, 4},
                           {8, 8},    {6, 3},    {4, 4, 2}, {8, 4, 2}, {8, 8, 2},
                           {8, 8, 4}, {6, 6, 3}, {4, 4, 4}, {6, 3, 3}, {6, 6, 2}};

Plan plan_of_case(const Job& job, std::uint64_t seed, const Case& of) {
  Plan plan = random_plan(job, seed, of.ranks);
  plan.hosts = of.hosts;
  // Hosts that do not sum first are there to share weights.
  if (of.hosts != summing_hosts(of.ranks, of.hosts)) plan.gather = Gather::host;
  return plan;
}

TEST(RankGraph, EveryRankAddsItsSliceOfEveryGradientAlongTheTreeOfTheJob) {
  for (const Case& of : kCases) {
    const auto [groups, ranks, hosts] = of;
    for (std::uint64_t seed = 1; seed < 9; ++seed) {
      const Job job = job_of_groups(groups, seed);
      const Plan plan = plan_of_case(job, seed, of);
      const StepGraph graph = graph_of_ranks(job, plan);
      const std::string sum = added_up(job.micro_batches(), groups, 0, groups);
      RankMemory memory(graph, job);
      std::size_t norms = 0;
      for (const std::size_t i : test::random_order(graph, seed)) {
        const StepTask& task = graph.tasks[i];
        if (task.kind == TaskKind::norm) {
          ++norms;
          const bool tied = task.unit == 0 && job.model.tied_head;
          const std::string expected = tied ? "(" + sum + "+" + sum + ")" : sum;
          for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) {
            for (const std::string& cell : memory.read(rank, task.accesses.front())) {
              ASSERT_EQ(cell, expected)
                  << groups << " groups, " << ranks << " ranks on " << hosts << " hosts, seed "
                  << seed << ", " << graph.graph.tasks()[i].id << ", rank " << rank << ", rounds "
                  << plan.rounds;
            }
          }
        }
        memory.run(task);
      }
      EXPECT_EQ(norms, 3 * plan.units.size());
    }
  }
}

TEST(RankGraph, EveryPassFindsAllSlicesOfItsWeightsAsTheStepBeforeLeftThem) {
  for (const Case& of : kCases) {
    const auto [groups, ranks, hosts] = of;
    for (std::uint64_t seed = 20; seed < 28; ++seed) {
      const Job job = job_of_groups(groups, seed);
      const StepGraph graph = graph_of_ranks(job, plan_of_case(job, seed, of));
      RankMemory memory(graph, job);
      for (const std::size_t i : test::random_order(graph, seed)) {
        const StepTask& task = graph.tasks[i];
        const bool passes = task.kind != TaskKind::update && task.lane == LaneKind::compute;
        for (const Access& access : task.accesses) {
          if (!passes || (access.role != Role::weights && access.role != Role::tied_weights)) {
            continue;
          }
          const int unit = access.role == Role::weights ? task.unit : 0;
          const std::int64_t blocks =
              sliced_parameters(unit_padded_size(job.model, static_cast<std::size_t>(unit)),
                                ranks) /
              kNormBlock;
          for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) {
            const auto texts = memory.read(rank, access);
            for (std::int64_t block = 0; block < blocks; ++block) {
              ASSERT_EQ(texts.at(static_cast<std::size_t>(block)),
                        RankMemory::weights(unit, block, task.step - 1))
                  << "seed " << seed << ", " << graph.graph.tasks()[i].id << ", rank " << rank;
            }
          }
        }
        memory.run(task);
      }
    }
  }
}

TEST(RankGraph, LayoutsOfRandomPlansAreSoundAndStepsRepeat) {
  for (const Case& of : kCases) {
    const auto [groups, ranks, hosts] = of;
    Job job = job_of_groups(groups, static_cast<std::uint64_t>(groups));
    for (std::uint64_t seed = 40; seed < 52; ++seed) {
      if (seed % 4 == 0) job.gradient_wire = GradientWire::bf16;
      const StepGraph graph = graph_of_ranks(job, plan_of_case(job, seed, of));
      EXPECT_EQ(find_layout_fault(graph, graph.layout), std::nullopt) << "seed " << seed;
      const std::size_t n = graph.tasks_per_step;
      for (std::size_t i = n; i < 2 * n; ++i) {
        std::set<std::size_t> second, third;
        for (const sim::TaskId each : graph.graph.tasks()[i].after) second.insert(index(each) + n);
        for (const sim::TaskId each : graph.graph.tasks()[i + n].after) third.insert(index(each));
        ASSERT_EQ(second, third) << "seed " << seed << " " << graph.graph.tasks()[i].id;
      }
    }
  }
}

TEST(RankGraph, ExchangesFollowTheLastMicroBatchAndOneGatherEndsTheStep) {
  const Job job = job_of_groups(4, 1);
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const StepGraph graph = graph_of_ranks(job, random_plan(job, seed, 2));
    const HappensBefore before(graph.graph);
    std::map<int, sim::TaskId> last_pass;
    std::int64_t gathers = 0, exchanged = 0;
    for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
      const StepTask& task = graph.tasks[i];
      if (task.step != 2) continue;
      const auto id = sim::TaskId(static_cast<std::uint32_t>(i));
      if (task.kind == TaskKind::backward || task.kind == TaskKind::loss) last_pass[task.unit] = id;
      if (task.kind == TaskKind::gather_norms) ++gathers;
      if (task.kind != TaskKind::exchange_gradients) continue;
      EXPECT_TRUE(before(last_pass.at(task.unit), id)) << graph.graph.tasks()[i].id;
      EXPECT_EQ(task.round + 1, random_plan(job, seed, 2).rounds);
      exchanged += task.bytes.count();
    }
    EXPECT_EQ(gathers, 1);
    // Each rank receives the other one's sum of its half, once, in fp32.
    std::int64_t halves = 0;
    for (std::size_t unit = 0; unit < unit_count(job.model); ++unit) {
      halves += 4 * slice_parameters(unit_padded_size(job.model, unit), 2);
    }
    EXPECT_EQ(exchanged, halves);
  }
}

TEST(RankGraph, HostsExchangeTheirSumsOnceAndNotOncePerRank) {
  const Job job = job_of_groups(8, 1);
  constexpr std::int64_t kRanks = 8;
  std::int64_t slices = 0;
  for (std::size_t unit = 0; unit < unit_count(job.model); ++unit) {
    slices += 4 * slice_parameters(unit_padded_size(job.model, unit), kRanks);
  }
  for (const std::int64_t hosts : {2, 4}) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      std::map<Among, std::int64_t> received;
      const Plan plan = plan_of_case(job, seed, {8, kRanks, hosts});
      for (const StepTask& task : graph_of_ranks(job, plan).tasks) {
        if (task.step != 2 || task.kind != TaskKind::exchange_gradients) continue;
        received[task.among] += task.bytes.count();
      }
      // A rank gets its host's other sums of one slice of each host, and the other hosts' of its
      // own: over all ranks of a host (hosts - 1) / hosts of the vector.
      EXPECT_EQ(received[Among::host], hosts * (kRanks / hosts - 1) * slices);
      EXPECT_EQ(received[Among::hosts], (hosts - 1) * slices);
      EXPECT_EQ(received[Among::all], 0);
    }
  }
}

/// Bytes of a graph's lasting tensors of one part and arena.
Bytes lasting(const StepGraph& graph, Arena arena) {
  Bytes sum{0};
  for (const StepTensor& tensor : graph.tensors) {
    if (tensor.persistent && tensor.arena == arena) sum += tensor.bytes;
  }
  return sum;
}

TEST(RankGraph, ARankKeepsOneSliceOfTheState) {
  const Job job = job_of_groups(8, 1);
  for (const std::int64_t ranks : {2, 4, 8}) {
    std::int64_t slices = 0;
    for (std::size_t unit = 0; unit < unit_count(job.model); ++unit) {
      slices += slice_parameters(unit_padded_size(job.model, unit), ranks);
    }
    Plan plan = uniform_plan(part_of_rank(job, ranks), UnitPlan{}, 1);
    plan.ranks = ranks;
    const StepGraph streamed = graph_of_ranks(job, plan);
    EXPECT_EQ(lasting(streamed, Arena::host), Bytes(12 * slices));
    EXPECT_EQ(lasting(streamed, Arena::device), Bytes(0));
    const UnitPlan resident{.weights = Tier::hbm,
                            .gradients = Tier::hbm,
                            .state = Tier::hbm,
                            .executor = Executor::gpu,
                            .when = When::after};
    plan.units.assign(plan.units.size(), resident);
    const StepGraph held = graph_of_ranks(job, plan);
    // All high halves, and the slice's low halves and moments.
    EXPECT_EQ(lasting(held, Arena::device), Bytes(2 * slices * ranks + 10 * slices));
    EXPECT_EQ(lasting(held, Arena::host), Bytes(0));
    for (UnitPlan& unit : plan.units) unit.resident = Extent::slice;
    EXPECT_EQ(lasting(graph_of_ranks(job, plan), Arena::device), Bytes(12 * slices));
  }
}

TEST(RankGraph, ALoadBringsOneSliceAndAGatherTheOthers) {
  const Job job = job_of_groups(4, 1);
  Plan plan = uniform_plan(part_of_rank(job, 4), UnitPlan{}, 1);
  plan.ranks = 4;
  const StepGraph graph = graph_of_ranks(job, plan);
  const std::int64_t slice = slice_parameters(unit_padded_size(job.model, 1), 4);
  std::int64_t loads = 0, gathers = 0;
  for (const StepTask& task : graph.tasks) {
    if (task.step != 2 || task.unit != 1) continue;
    if (task.kind == TaskKind::load_weights) {
      ++loads;
      EXPECT_EQ(task.bytes, Bytes(2 * slice));
    }
    if (task.kind == TaskKind::gather_weights) {
      ++gathers;
      EXPECT_EQ(task.bytes, Bytes(3 * 2 * slice));
    }
  }
  EXPECT_EQ(loads, 2);
  EXPECT_EQ(gathers, 2);
}

/// A plan of `ranks` ranks on `hosts` hosts that pull all weights.
Plan pulling_plan(const Job& job, std::int64_t ranks, std::int64_t hosts, std::int64_t rounds) {
  Plan plan = uniform_plan(part_of_rank(job, ranks), UnitPlan{}, rounds);
  plan.ranks = ranks;
  plan.hosts = hosts;
  plan.gather = Gather::host;
  return plan;
}

TEST(RankGraph, APullBringsAllSlicesByTheLinkAndNoneByTheFabric) {
  const Job job = job_of_groups(4, 1);
  const StepGraph graph = graph_of_ranks(job, pulling_plan(job, 4, 1, 1));
  std::int64_t slices = 0;
  for (std::size_t unit = 0; unit < unit_count(job.model); ++unit) {
    slices += slice_parameters(unit_padded_size(job.model, unit), 4);
  }
  EXPECT_EQ(lasting(graph, Arena::shared), Bytes(2 * 4 * slices));
  EXPECT_EQ(lasting(graph, Arena::host), Bytes(10 * slices));
  EXPECT_EQ(graph.layout.host_bytes_of(4, 1),
            graph.layout.host_bytes * 4 + graph.layout.shared_bytes);
  const std::int64_t slice = slice_parameters(unit_padded_size(job.model, 1), 4);
  std::int64_t loads = 0, barriers = 0;
  for (const StepTask& task : graph.tasks) {
    EXPECT_NE(task.kind, TaskKind::gather_weights);
    if (task.step != 2 || task.unit != 1) continue;
    if (task.kind == TaskKind::barrier) ++barriers;
    if (task.kind != TaskKind::load_weights) continue;
    ++loads;
    EXPECT_EQ(task.bytes, Bytes(2 * 4 * slice));
  }
  EXPECT_EQ(loads, 2);
  EXPECT_EQ(barriers, 1);
}

TEST(RankGraph, RanksPullAfterABarrierBehindTheUpdateAndUpdateBehindAnExchange) {
  for (const Case& of : kCases) {
    if (of.ranks == of.hosts) continue;  // A host's only rank waits for none.
    for (std::uint64_t seed = 60; seed < 68; ++seed) {
      const Job job = job_of_groups(of.groups, seed);
      Plan plan = plan_of_case(job, seed, of);
      plan.gather = Gather::host;
      const StepGraph graph = graph_of_ranks(job, plan);
      const HappensBefore before(graph.graph);
      std::map<int, sim::TaskId> update, barrier, exchange, load;
      for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
        const StepTask& task = graph.tasks[i];
        const auto id = sim::TaskId(static_cast<std::uint32_t>(i));
        const auto unit = static_cast<std::size_t>(task.unit);
        if (task.step == 3 || !pulls_weights(plan, plan.units[unit])) continue;
        if (task.kind == TaskKind::update && task.step == 1) update[task.unit] = id;
        if (task.kind == TaskKind::barrier && task.step == 2) barrier[task.unit] = id;
        const std::string& name = graph.graph.tasks()[i].id;
        const bool pull =
            task.kind == TaskKind::load_weights && name.find("share/load") == std::string::npos;
        if (pull && task.step == 2) {
          ASSERT_TRUE(barrier.contains(task.unit)) << name;
          EXPECT_TRUE(before(barrier.at(task.unit), id)) << name;
          load[task.unit] = id;
        }
        if (task.kind == TaskKind::exchange_gradients && task.step == 2) exchange[task.unit] = id;
        if (task.kind == TaskKind::update && task.step == 2) {
          EXPECT_TRUE(before(exchange.at(task.unit), id)) << name;
          EXPECT_TRUE(before(load.at(task.unit), exchange.at(task.unit))) << name;
        }
      }
      for (const auto& [unit, id] : barrier) EXPECT_TRUE(before(update.at(unit), id));
    }
  }
}

TEST(RankGraph, SlicesOfPulledWeightsEnterAHostOnceAStep) {
  const Job job = job_of_groups(8, 1);
  for (const auto& [hosts, rounds] : {std::pair(2, 1), std::pair(2, 2), std::pair(4, 2)}) {
    const Plan plan = pulling_plan(job, 4, hosts, rounds);
    const StepGraph graph = graph_of_ranks(job, plan);
    std::map<int, std::int64_t> between;
    for (const StepTask& task : graph.tasks) {
      if (task.step != 2 || task.kind != TaskKind::gather_weights) continue;
      EXPECT_EQ(task.among, hosts == 4 ? Among::all : Among::hosts);
      between[task.unit] += task.bytes.count();
    }
    EXPECT_EQ(between.size(), unit_count(job.model));
    for (const auto& [unit, bytes] : between) {
      const std::int64_t padded = unit_padded_size(job.model, static_cast<std::size_t>(unit));
      EXPECT_EQ(bytes, 2 * (hosts - 1) * slice_parameters(padded, 4));
    }
  }
}

TEST(RankGraph, OneRankHasNoTaskAndNoTensorOfRanks) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Job job = job_of_groups(4, seed);
    const StepGraph graph = graph_of_ranks(job, random_plan(job, seed));
    EXPECT_EQ(graph.graph.lanes().size(), 5u);
    for (const StepTask& task : graph.tasks) {
      ASSERT_NE(task.lane, LaneKind::fabric);
      ASSERT_NE(task.kind, TaskKind::sum_ranks);
      ASSERT_NE(task.kind, TaskKind::sum_norms);
      for (const Access& access : task.accesses) ASSERT_EQ(access.rank_stride, Bytes(0));
    }
  }
}

/// Hash of a graph's ids, accesses, edges and layout.
void add_graph(CanonicalText& text, const StepGraph& graph) {
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    const sim::Task& task = graph.graph.tasks()[i];
    text.add("task", task.id);
    for (const sim::TaskId before : task.after) {
      text.add("after", static_cast<std::int64_t>(index(before)));
    }
    for (const Access& access : graph.tasks[i].accesses) {
      text.add("tensor", graph.tensors[static_cast<std::size_t>(access.tensor)].name)
          .add("offset", access.offset.count())
          .add("bytes", access.bytes.count())
          .add("mode", static_cast<std::int64_t>(access.mode));
    }
  }
  for (const Placement& placement : graph.layout.placements) {
    text.add("place", placement.offset.count());
  }
}

TEST(RankGraph, OneRankHasTheGraphsOfVersionsWithoutRanks) {
  CanonicalText text("graphs");
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const Job job = job_of_groups(seed % 2 == 0 ? 1 : 4, seed);
    add_graph(text, graph_of_ranks(job, random_plan(job, seed)));
  }
  // Written by version 0.1.0 with groups, before plans had ranks.
  EXPECT_EQ(text.hash(), "fb15b053277f150484f0edd0dd41841a69da5489d884b99e0b7d89095e7b34fb");
}

TEST(RankGraph, SumsOverRanksRunBetweenPassesOfTheNextUnit) {
  const Job job = job_of_groups(2, 1);
  Plan plan = uniform_plan(part_of_rank(job, 2), UnitPlan{}, 1);
  plan.ranks = 2;
  const StepGraph graph = graph_of_ranks(job, plan);
  std::map<std::string, std::size_t> at;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) at[graph.graph.tasks()[i].id] = i;
  EXPECT_LT(at.at("s2/r0/bwd/L2/m0"), at.at("s2/sum/ranks/L3/p0"));
  EXPECT_LT(at.at("s2/sum/ranks/L3/p0"), at.at("s2/norm/L3"));
  EXPECT_LT(at.at("s2/norm/L3"), at.at("s2/r0/bwd/L2/m3"));
  // With one buffer the next unit's gradient takes the place of this one's.
  plan.gradient_buffers = 1;
  const StepGraph single = graph_of_ranks(job, plan);
  at.clear();
  for (std::size_t i = 0; i < single.tasks.size(); ++i) at[single.graph.tasks()[i].id] = i;
  EXPECT_LT(at.at("s2/norm/L3"), at.at("s2/r0/bwd/L2/m0"));
}

TEST(StepSums, ARunHoldsEveryBlockOfTheSlicesAndEveryLoss) {
  Job job = job_of_groups(4, 7);
  const StepSums sums = step_sums(part_of_rank(job, 4), 4);
  Bytes blocks{0};
  for (std::size_t unit = 0; unit < unit_count(job.model); ++unit) {
    EXPECT_EQ(sums.norm_blocks[unit].offset, blocks);
    const std::int64_t slice = slice_parameters(unit_padded_size(job.model, unit), 4);
    EXPECT_EQ(sums.norm_blocks[unit].bytes, Bytes(8 * slice / kNormBlock));
    blocks += sums.norm_blocks[unit].bytes;
  }
  EXPECT_EQ(sums.losses.offset, blocks);
  EXPECT_EQ(sums.losses.bytes, Bytes(8 * 2));
  EXPECT_EQ(sums.balance_losses.bytes, Bytes(8 * 2));
  EXPECT_EQ(sums.run, blocks + Bytes(32));
}

}  // namespace
}  // namespace sluice::planner
