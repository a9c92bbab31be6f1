// The number of ranks never changes results: losses, norms, weights and moments are those of one
// rank, bit for bit, under any plan; and each rank has its share of the work and of the state.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/state/state_snapshot.hpp"
#include "tests/engine/scratch_folder.hpp"
#include "tests/engine/training/rank_jobs.hpp"

namespace sluice::engine::test {
namespace {

constexpr std::int64_t kRankedSteps = 2;

/// A random plan of so many ranks; with every other seed hosts of two ranks sum gradients first.
planner::Plan random_rank_plan(const planner::Job& job, std::uint64_t seed, std::int64_t ranks) {
  planner::Plan plan = planner::random_plan(job, seed, ranks);
  if (seed % 2 == 0) plan.hosts = planner::summing_hosts(ranks, ranks / 2);
  return plan;
}

class RanksOfGroups : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(RanksOfGroups, GiveTheBitsOfOneRankUnderRandomPlans) {
  std::uint64_t seed = static_cast<std::uint64_t>(GetParam()) * 100;
  for (const auto& [name, job] : ranked_jobs(GetParam())) {
    const Outcome expected = run_plan(job, plain_rank_plan(job, 1), kRankedSteps);
    const std::vector<std::int64_t> admissible = planner::ranks_of(job);
    EXPECT_EQ(admissible.front(), 1);
    for (const std::int64_t ranks : admissible) {
      if (ranks == 1) continue;
      EXPECT_EQ(run_plan(job, plain_rank_plan(job, ranks), kRankedSteps), expected)
          << name << ", ranks " << ranks;
      const planner::Plan plan = random_rank_plan(job, seed++, ranks);
      EXPECT_EQ(run_plan(job, plan, kRankedSteps), expected) << name << ": " << describe(plan);
    }
  }
}

TEST_P(RanksOfGroups, GiveTheBitsOfOneRankUnderManyPlans) {
  constexpr int kPlans = 25;
  std::uint64_t seed = static_cast<std::uint64_t>(GetParam()) * 10'000;
  for (const auto& [name, job] : ranked_jobs(GetParam())) {
    const Outcome expected = run_plan(job, plain_rank_plan(job, 1), kRankedSteps);
    for (const std::int64_t ranks : planner::ranks_of(job)) {
      for (int i = 0; ranks > 1 && i < kPlans; ++i) {
        const planner::Plan plan = random_rank_plan(job, seed++, ranks);
        EXPECT_EQ(run_plan(job, plan, kRankedSteps), expected)
            << name << ", seed " << seed - 1 << ": " << describe(plan);
      }
    }
  }
}

TEST(RankedSession, ThatHoldsSlicesOfWeightsHasTheBitsOfOneRank) {
  for (const auto& [name, job] : ranked_jobs(4)) {
    const Outcome expected = run_plan(job, plain_rank_plan(job, 1), kRankedSteps);
    for (const planner::Tier state : {planner::Tier::hbm, planner::Tier::host}) {
      for (const std::int64_t ranks : {2, 4}) {
        planner::Plan plan = plain_rank_plan(job, ranks);
        for (planner::UnitPlan& unit : plan.units) {
          unit.weights = unit.gradients = planner::Tier::hbm;
          unit.state = state;
          unit.executor = planner::Executor::gpu;
          unit.when = planner::When::after;
          unit.resident = planner::Extent::slice;
        }
        EXPECT_EQ(run_plan(job, plan, kRankedSteps), expected) << name << ": " << describe(plan);
      }
    }
  }
}

/// A plan of so many ranks whose weights all ranks of each of `hosts` hosts pull from the memory
/// that they share.
planner::Plan pulling_plan(const planner::Job& job, std::int64_t ranks, std::int64_t hosts,
                           const planner::UnitPlan& unit) {
  planner::Plan plan = plain_rank_plan(job, ranks);
  plan.gather = planner::Gather::host;
  plan.hosts = hosts;
  plan.units.assign(plan.units.size(), unit);
  return plan;
}

TEST(RankedSession, ThatPullsWeightsFromSharedMemoryHasTheBitsOfOneRank) {
  using planner::Executor, planner::Tier, planner::When;
  const planner::UnitPlan streamed{};
  const planner::UnitPlan refreshed{.weights = Tier::hbm, .gradients = Tier::hbm};
  const planner::UnitPlan staged{
      .gradients = Tier::hbm, .executor = Executor::gpu, .when = When::after};
  for (const auto& [name, job] : ranked_jobs(4)) {
    const Outcome expected = run_plan(job, plain_rank_plan(job, 1), kRankedSteps);
    for (planner::UnitPlan unit : {streamed, refreshed, staged}) {
      if (!job.optimizer.clip && unit.executor == Executor::cpu) unit.when = When::backward;
      for (const auto& [ranks, hosts] :
           {std::pair(2, 1), std::pair(4, 1), std::pair(4, 2), std::pair(4, 4)}) {
        planner::Plan plan = pulling_plan(job, ranks, hosts, unit);
        // A unit that stays on the device beside those that are pulled.
        plan.units[1] = {.weights = Tier::hbm,
                         .gradients = Tier::hbm,
                         .state = Tier::hbm,
                         .executor = Executor::gpu,
                         .when = When::after};
        EXPECT_EQ(run_plan(job, plan, kRankedSteps), expected) << name << ": " << describe(plan);
      }
    }
  }
}

TEST(RankedSession, ThatPullsWeightsHoldsThemOnceAHost) {
  const planner::Job job = ranked_jobs(4)[2].job;
  std::int64_t whole = 0;
  for (std::size_t unit = 0; unit < planner::unit_count(job.model); ++unit) {
    whole += planner::sliced_parameters(planner::unit_padded_size(job.model, unit), 4);
  }
  const planner::Plan plan = pulling_plan(job, 4, 1, {});
  const planner::StepGraph graph = graph_of(job, plan);
  EXPECT_EQ(graph.layout.shared_bytes, Bytes(2 * whole));
  RunTokens tokens(job);
  const auto session = make_session(job, graph, plan, tokens);
  session->run_to(1);
  EXPECT_EQ(session->touched(planner::Arena::shared), graph.layout.shared_bytes);
}

/// Jobs whose slices have several pieces on the disk: one of each type of compute, and a tied head
/// with gradients that are rounded on the wire.
std::vector<NamedJob> jobs_on_disk() {
  std::vector<NamedJob> jobs;
  for (const planner::ComputeType compute :
       {planner::ComputeType::bf16, planner::ComputeType::fp32}) {
    planner::Job job = ranked_jobs(4).front().job;
    job.model.layers = 2;
    job.model.hidden = 256;
    job.model.intermediate = 512;
    job.model.head_dim = 64;
    job.compute = compute;
    job.model.tied_head = compute == planner::ComputeType::bf16;
    job.gradient_wire = compute == planner::ComputeType::bf16 ? planner::GradientWire::bf16
                                                              : planner::GradientWire::fp32;
    jobs.push_back({planner::to_string(compute), job});
  }
  return jobs;
}

/// A plan with the state of units from `first` on on the disk, and their gradients and weights in
/// the given tiers.
planner::Plan rank_plan_on_disk(const planner::Job& job, std::int64_t ranks, std::size_t first,
                                planner::Tier gradients, planner::Tier weights) {
  planner::Plan plan = plain_rank_plan(job, ranks);
  for (std::size_t unit = first; unit < plan.units.size(); ++unit) {
    plan.units[unit].state = planner::Tier::disk;
    plan.units[unit].gradients = gradients;
    plan.units[unit].weights = weights;
  }
  plan.disk_buffer = planner::kDiskBlock;
  return plan;
}

TEST(RankedSession, ThatKeepsStateOnTheDiskHasTheBitsOfOneRank) {
  using planner::Tier;
  for (const auto& [name, job] : jobs_on_disk()) {
    const Outcome expected = run_plan(job, plain_rank_plan(job, 1), kRankedSteps);
    for (const std::int64_t ranks : {2, 4}) {
      bool pulls = false;
      for (const auto& [gradients, weights] :
           {std::pair(Tier::host, Tier::host), std::pair(Tier::hbm, Tier::hbm),
            std::pair(Tier::host, Tier::host), std::pair(Tier::disk, Tier::disk)}) {
        const ScratchFolder folder;
        planner::Plan plan = rank_plan_on_disk(job, ranks, 0, gradients, weights);
        if (pulls) plan.gather = planner::Gather::host;
        pulls = !pulls;
        const planner::StepGraph graph = graph_of(job, plan);
        EXPECT_GT(std::ssize(graph.disk[1]), ranks == 2 ? 1 : 0);
        EXPECT_EQ(run_plan(job, plan, kRankedSteps, {.folder = folder.path()}), expected)
            << name << ": " << describe(plan);
      }
    }
  }
}

TEST(RankedSession, HoldTheirShareOfTheStateOnTheDisk) {
  const planner::Job job = jobs_on_disk().front().job;
  for (const std::int64_t ranks : {1, 2, 4}) {
    const planner::StepGraph graph =
        graph_of(job, rank_plan_on_disk(job, ranks, 0, planner::Tier::disk, planner::Tier::disk));
    for (std::size_t unit = 0; unit < graph.disk.size(); ++unit) {
      std::int64_t held = 0;
      for (const planner::DiskPiece& piece : graph.disk[unit]) held += piece.count;
      EXPECT_EQ(held, planner::slice_parameters(planner::unit_padded_size(job.model, unit), ranks));
    }
  }
}

TEST(RankedSession, ResumeFromTheDiskOnAnotherNumber) {
  const planner::Job job = jobs_on_disk().front().job;
  const auto rate = [](std::int64_t step) { return 1e-2 / static_cast<double>(step); };
  std::string expected;
  for (const auto& [before, after] : {std::pair(1, 4), std::pair(4, 2), std::pair(2, 1)}) {
    const ScratchFolder folder;
    RunTokens tokens(job);
    const auto of = [&](std::int64_t ranks) {
      return rank_plan_on_disk(job, ranks, 1, planner::Tier::host, planner::Tier::disk);
    };
    const planner::StepGraph graph = graph_of(job, of(before)), other = graph_of(job, of(after));
    const DiskPlace place{.folder = folder.path()};
    Session first(job, graph, rank_devices(job, graph, of(before)), tokens, rate, kRunSeed, place);
    first.run_to(2);
    EXPECT_GT(first.disk_written(), Bytes(0));
    StateSnapshot saved(job.model, first.state());
    saved.take(first.state());
    Session second(job, other, rank_devices(job, other, of(after)), tokens, rate,
                   LoadedState{.source = saved, .moments = LoadedState::Moments::loaded}, place);
    second.continue_after(2);
    std::string outcome;
    second.run_to(4, [&](std::int64_t, const StepResult& result) { outcome += bits_of(result); });
    outcome += second.state().weights_sha256() + second.state().state_sha256();
    if (expected.empty()) expected = outcome;
    EXPECT_EQ(outcome, expected) << before << " ranks, then " << after;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, RanksOfGroups, ::testing::Values(1, 2, 3, 4, 6, 8));

TEST(RankedSession, ThatGroupsCannotBeDealtAmongAreRefusedWithThoseThatCan) {
  const planner::Job job = ranked_jobs(6).front().job;
  EXPECT_EQ(planner::ranks_of(job), (std::vector<std::int64_t>{1, 3, 6}));
  try {
    (void)graph_of(job, plain_rank_plan(job, 2));
    ADD_FAILURE() << "two ranks of six groups were accepted";
  } catch (const BadRequest& error) {
    EXPECT_NE(std::string(error.what()).find("1, 3, 6"), std::string::npos) << error.what();
  }
}

/// Counts a rank's forward and backward passes of the first block, by step.
class CountsPasses : public Observer {
 public:
  void task_ran(const TaskEvent& event) override {
    const BoundTask& task = program->task(event.task);
    if (task.unit != 1) return;
    if (task.kind == planner::TaskKind::forward) ++forward;
    if (task.kind == planner::TaskKind::backward) ++backward;
  }
  const Program* program = nullptr;
  std::atomic<int> forward{0}, backward{0};
};

TEST(RankedSession, ComputeTheirShareOfTheMicroBatches) {
  const planner::Job job = ranked_jobs(4).front().job;
  for (const std::int64_t ranks : {1, 2, 4}) {
    const planner::Plan plan = plain_rank_plan(job, ranks);
    const planner::StepGraph graph = graph_of(job, plan);
    std::vector<CountsPasses> counts(static_cast<std::size_t>(ranks));
    std::vector<Observer*> observers;
    for (CountsPasses& each : counts) observers.push_back(&each);
    RunTokens tokens(job);
    Session session(
        job, graph, rank_devices(job, graph, plan, observers), tokens,
        [](std::int64_t) { return 1e-3; }, kRunSeed);
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i].program = &session.program(i);
    session.run_to(kRankedSteps);
    for (const CountsPasses& each : counts) {
      EXPECT_EQ(each.forward.load(), kRankedSteps * job.micro_batches() / ranks);
      EXPECT_EQ(each.backward.load(), kRankedSteps * job.micro_batches() / ranks);
    }
  }
}

/// Bytes in one rank's arenas of what lasts from step to step, and of the arenas themselves.
struct Held {
  std::int64_t lasting = 0;
  Bytes arenas{0};
};

Held held_by_a_rank(const planner::StepGraph& graph) {
  Held held{.arenas = graph.layout.device_bytes + graph.layout.host_bytes};
  for (const planner::StepTensor& tensor : graph.tensors) {
    if (tensor.persistent) held.lasting += tensor.bytes.count();
  }
  return held;
}

TEST(RankedSession, HoldTheirShareOfTheState) {
  planner::Job job = ranked_jobs(8).front().job;
  job.model.vocab = 4096;  // Slices are whole blocks: large units are cut evenly.
  job.model.intermediate = 1024;
  job.model.hidden = 64;
  const Held all = held_by_a_rank(graph_of(job, plain_rank_plan(job, 1)));
  std::int64_t parameters = 0;
  for (std::size_t unit = 0; unit < planner::unit_count(job.model); ++unit) {
    parameters += planner::unit_padded_size(job.model, unit);
  }
  EXPECT_EQ(all.lasting, 12 * parameters);
  for (const std::int64_t ranks : {2, 4, 8}) {
    const Held share = held_by_a_rank(graph_of(job, plain_rank_plan(job, ranks)));
    std::int64_t slices = 0;
    for (std::size_t unit = 0; unit < planner::unit_count(job.model); ++unit) {
      slices += planner::slice_parameters(planner::unit_padded_size(job.model, unit), ranks);
    }
    EXPECT_EQ(share.lasting, 12 * slices);
    EXPECT_LT(static_cast<double>(share.lasting),
              1.1 * static_cast<double>(all.lasting) / static_cast<double>(ranks));
    EXPECT_LT(share.arenas, all.arenas);
  }
}

TEST(RankedSession, TouchTheirShareOfHostMemory) {
  planner::Job job = ranked_jobs(4).front().job;
  job.model.vocab = 4096;
  job.model.intermediate = 1024;
  job.model.hidden = 64;
  const auto touched = [&](std::int64_t ranks) {
    const planner::Plan plan = plain_rank_plan(job, ranks);
    const planner::StepGraph graph = graph_of(job, plan);
    RunTokens tokens(job);
    const auto session = make_session(job, graph, plan, tokens);
    session->run_to(1);
    EXPECT_EQ(session->touched(planner::Arena::host), graph.layout.host_bytes);
    return static_cast<double>(session->touched(planner::Arena::host).count());
  };
  // The host holds all of the state and gradients that wait for their update.
  const double one = touched(1);
  for (const std::int64_t ranks : {2, 4}) {
    EXPECT_LT(touched(ranks), 1.1 * one / static_cast<double>(ranks)) << ranks;
  }
}

TEST(RankedSession, ResumeOnAnyAdmissibleNumberWhatAnotherNumberSaved) {
  const planner::Job job = ranked_jobs(4)[2].job;
  const auto graph_with = [&](std::int64_t ranks, std::uint64_t seed) {
    const planner::Plan plan = planner::random_plan(job, seed, ranks);
    return std::pair(plan, graph_of(job, plan));
  };
  const auto rate = [](std::int64_t step) { return 1e-2 / static_cast<double>(step); };
  std::string expected;
  for (const std::int64_t before : {1, 2, 4}) {
    for (const std::int64_t after : {1, 2, 4}) {
      RunTokens tokens(job);
      const auto [plan, graph] = graph_with(before, 31);
      Session first(job, graph, rank_devices(job, graph, plan), tokens, rate, kRunSeed);
      first.run_to(2);
      StateSnapshot saved(job.model, first.state());
      saved.take(first.state());
      EXPECT_EQ(saved.hashes().weights, first.state().weights_sha256());
      const auto [other_plan, other_graph] = graph_with(after, 32);
      Session second(job, other_graph, rank_devices(job, other_graph, other_plan), tokens, rate,
                     LoadedState{.source = saved, .moments = LoadedState::Moments::loaded});
      second.continue_after(2);
      std::string outcome;
      second.run_to(4, [&](std::int64_t, const StepResult& result) { outcome += bits_of(result); });
      outcome += second.state().weights_sha256() + second.state().state_sha256();
      if (expected.empty()) expected = outcome;
      EXPECT_EQ(outcome, expected) << before << " ranks, then " << after;
    }
  }
}

TEST(RankedSession, SaveTheSameFilesOnAnyNumberOfRanks) {
  const planner::Job job = ranked_jobs(4).front().job;
  std::map<std::string, std::string> expected;
  for (const std::int64_t ranks : {1, 2, 4}) {
    const planner::Plan plan = planner::random_plan(job, 5, ranks);
    const planner::StepGraph graph = graph_of(job, plan);
    RunTokens tokens(job);
    const auto session = make_session(job, graph, plan, tokens);
    session->run_to(2);
    const ScratchFolder folder;
    const auto written =
        write_checkpoint(folder.path(), facts_of_step(2), config_of(job.model), session->state());
    const std::map<std::string, std::string> files = files_in(written);
    EXPECT_GE(files.size(), 5U);
    if (expected.empty()) expected = files;
    EXPECT_TRUE(files == expected) << ranks << " ranks";
  }
}

TEST(RankedSession, StopAfterTheSameStep) {
  const planner::Job job = ranked_jobs(4).front().job;
  for (const std::int64_t ranks : {1, 4}) {
    const planner::Plan plan = plain_rank_plan(job, ranks);
    const planner::StepGraph graph = graph_of(job, plan);
    RunTokens tokens(job);
    const auto session = make_session(job, graph, plan, tokens);
    const std::int64_t ran = session->run_to(50, [&](std::int64_t step, const StepResult&) {
      if (step == 3) session->request_stop();
    });
    EXPECT_GE(ran, 3);
    EXPECT_LT(ran, 50);
    EXPECT_EQ(session->run_to(ran + 2), ran + 2);
    EXPECT_EQ(session->state().weights_sha256(),
              run_plan(job, plain_rank_plan(job, 1), ran + 2).weights_sha256);
  }
}

TEST(RankedSession, EndWithTheErrorOfTheOneThatFailed) {
  class FailsAtStepThree : public TokenSource {
   public:
    explicit FailsAtStepThree(const planner::Job& job) : job_(job), tokens_(job) {}
    void read(std::int64_t position, std::span<std::int32_t> inputs,
              std::span<std::int32_t> targets) override {
      if (position >= 2 * job_.batch_size && !failed_.exchange(true)) {
        throw EnvironmentError("the data's file cannot be read");
      }
      tokens_.read(position, inputs, targets);
    }

   private:
    planner::Job job_;
    RunTokens tokens_;
    std::atomic<bool> failed_{false};
  };
  const planner::Job job = ranked_jobs(4).front().job;
  const planner::Plan plan = plain_rank_plan(job, 4);
  const planner::StepGraph graph = graph_of(job, plan);
  FailsAtStepThree tokens(job);
  const auto session = make_session(job, graph, plan, tokens);
  try {
    session->run_to(10);
    ADD_FAILURE() << "a rank without data went on";
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(), "the data's file cannot be read");
  }
}

TEST(RankedSession, SayWhereTrainingDivergedAsOneRankDoes) {
  constexpr std::size_t kBadUnit = 2;
  const planner::Job job = ranked_jobs(4).front().job;
  const auto size = static_cast<std::size_t>(planner::unit_padded_size(job.model, kBadUnit));
  const std::vector<std::uint16_t> not_a_number(size, 0x7fc0), zero(size, 0);
  std::vector<std::string> lines;
  for (const std::int64_t ranks : {1, 4}) {
    const planner::Plan plan = plain_rank_plan(job, ranks);
    const planner::StepGraph graph = graph_of(job, plan);
    RunTokens tokens(job);
    const auto session = make_session(job, graph, plan, tokens);
    session->run_to(1);
    session->state().write_weights(kBadUnit, not_a_number, zero);
    try {
      session->run_to(10);
      ADD_FAILURE() << "weights that are no numbers gave a loss";
    } catch (const Diverged& error) {
      EXPECT_EQ(error.step(), 2);
      EXPECT_TRUE(error.loss());
      lines.emplace_back(error.what());
    }
    const auto found = session->evaluation().find_not_finite(
        job.batch_size,
        [&](std::int64_t first, std::span<std::int32_t> inputs, std::span<std::int32_t> targets) {
          tokens.read(first, inputs, targets);
        });
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->unit, kBadUnit);
    EXPECT_EQ(found->micro_batch, 0);
  }
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0], lines[1]);
}

TEST(RankedSession, EndAnEvaluationWhoseReadingFailsAndTrainOn) {
  const planner::Job job = ranked_jobs(4).front().job;
  const planner::Plan plan = plain_rank_plan(job, 4);
  const planner::StepGraph graph = graph_of(job, plan);
  RunTokens tokens(job);
  const auto session = make_session(job, graph, plan, tokens);
  const auto read = [&](std::int64_t first, std::span<std::int32_t> inputs,
                        std::span<std::int32_t> targets) {
    if (first >= 5) throw std::invalid_argument("no more windows");
    tokens.read(first, inputs, targets);
  };
  EXPECT_THROW((void)session->evaluation().mean_loss(12, read), std::invalid_argument);
  EXPECT_EQ(session->run_to(2), 2);
  EXPECT_EQ(session->state().weights_sha256(),
            run_plan(job, plain_rank_plan(job, 1), 2).weights_sha256);
}

}  // namespace
}  // namespace sluice::engine::test
