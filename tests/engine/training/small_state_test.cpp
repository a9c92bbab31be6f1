// Moments in bf16 and int8 depend neither on plans nor on ranks, and go through checkpoints as they
// are, or are converted.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "engine/model_files/checkpoint.hpp"
#include "engine/model_files/coded_moments.hpp"
#include "engine/state/state_snapshot.hpp"
#include "sim/error.hpp"
#include "tests/engine/disk_plans.hpp"
#include "tests/engine/scratch_folder.hpp"
#include "tests/engine/training/rank_jobs.hpp"

namespace sluice::engine::test {
namespace {

using planner::StateType;

constexpr std::int64_t kSteps = 3;

/// `job` with moments of this type.
planner::Job with(planner::Job job, StateType state) {
  job.optimizer.state = state;
  return job;
}

class SmallState : public ::testing::TestWithParam<StateType> {};

TEST_P(SmallState, HasTheBitsOfThePlainPlanUnderRandomPlans) {
  const std::vector<NamedJob> jobs = small_jobs();
  for (const std::size_t number : {std::size_t{0}, std::size_t{3}, std::size_t{4}}) {
    const planner::Job job = with(jobs[number].job, GetParam());
    const planner::Plan plain = planner::uniform_plan(job, planner::UnitPlan{}, 1);
    const Outcome expected = run_plan(job, plain, kSteps);
    EXPECT_NE(expected.weights_sha256, run_plan(jobs[number].job, plain, kSteps).weights_sha256);
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      const planner::Plan plan = planner::random_plan(job, 100 * number + seed);
      EXPECT_EQ(run_plan(job, plan, kSteps), expected) << jobs[number].name << describe(plan);
    }
  }
}

TEST_P(SmallState, InHbmAndInTheRingHasTheBitsOfThePlainPlan) {
  using planner::Tier;
  const planner::Job job = with(small_jobs()[2].job, GetParam());
  const Outcome expected =
      run_plan(job, planner::uniform_plan(job, planner::UnitPlan{}, 1), kSteps);
  planner::UnitPlan unit{.executor = planner::Executor::gpu, .when = planner::When::after};
  for (const Tier weights : {Tier::hbm, Tier::host}) {
    unit.weights = weights;
    unit.staging = planner::Staging::ring;
    planner::Plan plan = planner::uniform_plan(job, unit, 2);
    plan.state_buffers = 2;
    EXPECT_EQ(run_plan(job, plan, kSteps), expected) << describe(plan);
  }
  unit = {.weights = Tier::hbm,
          .gradients = Tier::hbm,
          .state = Tier::hbm,
          .executor = planner::Executor::gpu,
          .when = planner::When::after};
  EXPECT_EQ(run_plan(job, planner::uniform_plan(job, unit, 1), kSteps), expected);
}

TEST_P(SmallState, OnTheDiskHasTheBitsOfThePlainPlan) {
  using planner::Tier;
  for (const planner::ComputeType compute :
       {planner::ComputeType::bf16, planner::ComputeType::fp32}) {
    planner::Job job = with(pieced_job(), GetParam());
    job.compute = compute;
    const Outcome expected =
        run_plan(job, planner::uniform_plan(job, planner::UnitPlan{}, 1), kSteps);
    for (const Tier other : {Tier::host, Tier::disk}) {
      const ScratchFolder folder;
      const planner::Plan plan = disk_plan(job, 0, other, 2, other);
      EXPECT_GT(graph_of(job, plan).disk[1].size(), 1u);
      EXPECT_EQ(run_plan(job, plan, kSteps, {.folder = folder.path()}), expected) << describe(plan);
    }
  }
}

TEST_P(SmallState, OfSeveralRanksHasTheBitsOfOne) {
  const planner::Job job = with(ranked_jobs(4)[2].job, GetParam());
  const Outcome expected = run_plan(job, plain_rank_plan(job, 1), kSteps);
  for (const std::int64_t ranks : {2, 4}) {
    EXPECT_EQ(run_plan(job, plain_rank_plan(job, ranks), kSteps), expected) << ranks;
    const planner::Plan plan = planner::random_plan(job, 7, ranks);
    EXPECT_EQ(run_plan(job, plan, kSteps), expected) << describe(plan);
  }
}

TEST_P(SmallState, GoesOnFromACheckpointUnderAnotherPlanAndOnAnotherNumberOfRanks) {
  const planner::Job job = with(ranked_jobs(4)[0].job, GetParam());
  const auto rate = [](std::int64_t step) { return 1e-2 / static_cast<double>(step); };
  std::string expected;
  for (const auto& [before, after] : {std::pair(1, 1), std::pair(1, 4), std::pair(4, 2)}) {
    const ScratchFolder folder;
    RunTokens tokens(job);
    const planner::Plan begun = plain_rank_plan(job, before), other = plain_rank_plan(job, after);
    const planner::StepGraph graph = graph_of(job, begun), next = graph_of(job, other);
    Session first(job, graph, rank_devices(job, graph, begun), tokens, rate, kRunSeed);
    first.round_by(9);
    first.run_to(2);
    StateSnapshot saved(job.model, first.state());
    saved.take(first.state());
    CheckpointFacts facts = facts_of_step(2);
    facts.state = GetParam();
    const Checkpoint checkpoint(
        write_checkpoint(folder.path(), facts, config_of(job.model), saved));
    EXPECT_EQ(checkpoint.facts().state, GetParam());
    Session second(job, next, rank_devices(job, next, other), tokens, rate,
                   LoadedState{.source = checkpoint, .moments = LoadedState::Moments::loaded});
    second.round_by(9);
    second.continue_after(2);
    EXPECT_EQ(second.state().state_sha256(), first.state().state_sha256());
    EXPECT_EQ(second.state().weights_sha256(), saved.hashes().weights);
    std::string outcome;
    second.run_to(4, [&](std::int64_t, const StepResult& result) { outcome += bits_of(result); });
    first.run_to(4);
    outcome += second.state().weights_sha256() + second.state().state_sha256();
    EXPECT_TRUE(outcome.ends_with(first.state().weights_sha256() + first.state().state_sha256()));
    if (expected.empty()) expected = outcome;
    EXPECT_EQ(outcome, expected) << before << " ranks, then " << after;
  }
}

TEST_P(SmallState, LoadsOtherMomentsAsTheNearestThatItHas) {
  const planner::Job job = ranked_jobs(4)[0].job, small = with(job, GetParam());
  const planner::Plan plan = plain_rank_plan(job, 1);
  const auto rate = [](std::int64_t) { return 1e-2; };
  RunTokens tokens(job);
  const planner::StepGraph graph = graph_of(job, plan), other = graph_of(small, plan);
  Session usual(job, graph, rank_devices(job, graph, plan), tokens, rate, kRunSeed);
  usual.run_to(2);
  Session converted(small, other, rank_devices(small, other, plan), tokens, rate,
                    LoadedState{.source = usual.state(), .moments = LoadedState::Moments::loaded});
  EXPECT_EQ(converted.state().weights_sha256(), usual.state().weights_sha256());
  for (const StatePart part : {StatePart::m, StatePart::v}) {
    const planner::UnitTensors unit = planner::unit_tensors(job.model, 1);
    float largest = 0;
    for (const planner::TensorSpec& tensor : unit.tensors) {
      std::vector<float> exact(static_cast<std::size_t>(tensor.size()));
      usual.state().read(part, 1, tensor, 0, exact);
      for (const float value : exact) largest = std::max(largest, std::fabs(value));
    }
    EXPECT_GT(largest, 0);
    for (const planner::TensorSpec& tensor : unit.tensors) {
      std::vector<float> exact(static_cast<std::size_t>(tensor.size())), near = exact;
      usual.state().read(part, 1, tensor, 0, exact);
      converted.state().read(part, 1, tensor, 0, near);
      // A block's scale is at most the unit's largest magnitude; half of a cell of m's topmost
      // decade is 0.45/64 of the scale.
      const float cell = GetParam() == StateType::int8 ? 0.0071F * largest : 0;
      for (std::size_t i = 0; i < exact.size(); ++i) {
        const float half_step = 0x1p-8F * std::fabs(exact[i]);
        ASSERT_LE(std::fabs(near[i] - exact[i]), std::max(cell, half_step)) << i;
      }
    }
  }
}

// A checkpoint of int8 holds codes and scales, 1.02 bytes a value, and one of an earlier version
// the fp32 values that codes stand for: both give the state's bits back.
TEST(CodedCheckpoint, IsAQuarterOfOneWithFp32ValuesAndLoadsAsItDoes) {
  const planner::Job job = with(ranked_jobs(4)[0].job, StateType::int8);
  const planner::Plan plan = plain_rank_plan(job, 1);
  const planner::StepGraph graph = graph_of(job, plan);
  const auto rate = [](std::int64_t) { return 1e-2; };
  RunTokens tokens(job);
  Session session(job, graph, rank_devices(job, graph, plan), tokens, rate, kRunSeed);
  session.run_to(2);
  std::map<StateType, std::uintmax_t> bytes;
  for (const StateType written : {StateType::int8, StateType::fp32}) {
    const ScratchFolder folder;
    CheckpointFacts facts = facts_of_step(2);
    facts.state = written;
    const auto step = write_checkpoint(folder.path(), facts, config_of(job.model), session.state());
    bytes[written] = std::filesystem::file_size(step / "m.safetensors") +
                     std::filesystem::file_size(step / "v.safetensors");
    EXPECT_EQ(CodedMoments::are_in(step / "m.safetensors"), written == StateType::int8);
    const Checkpoint checkpoint(step);
    RunTokens again(job);
    Session loaded(job, graph, rank_devices(job, graph, plan), again, rate,
                   LoadedState{.source = checkpoint, .moments = LoadedState::Moments::loaded});
    EXPECT_EQ(loaded.state().state_sha256(), session.state().state_sha256());
  }
  EXPECT_LT(4 * bytes[StateType::int8], 1.1 * static_cast<double>(bytes[StateType::fp32]));
}

TEST(CodedCheckpoint, OfAnotherShapeIsRefused) {
  const planner::Job job = with(small_jobs()[0].job, StateType::int8);
  const planner::Plan plan = planner::uniform_plan(job, planner::UnitPlan{}, 1);
  const planner::StepGraph graph = graph_of(job, plan);
  RunTokens tokens(job);
  const auto session = make_session(job, graph, plan, tokens);
  const ScratchFolder folder;
  const auto files = write_coded_moments(
      {.folder = folder.path(), .name = "m", .part = StatePart::m, .most = Bytes(1), .threads = 1},
      job.model, session->state(), nullptr);
  EXPECT_EQ(files.size(), planner::unit_count(job.model));  // A file for each unit.
  std::vector<std::filesystem::path> paths;
  for (const FileRecord& file : files) paths.push_back(folder.path() / file.name);
  EXPECT_NO_THROW(CodedMoments(StatePart::m, paths, job.model));
  planner::ModelShape deeper = job.model;
  deeper.layers += 1;
  EXPECT_THROW(CodedMoments(StatePart::m, paths, deeper), BadRequest);
  paths.pop_back();
  EXPECT_THROW(CodedMoments(StatePart::m, paths, job.model), BadRequest);
}

INSTANTIATE_TEST_SUITE_P(Types, SmallState, ::testing::Values(StateType::bf16, StateType::int8),
                         [](const auto& info) { return std::string(to_string(info.param)); });

TEST(RoundingOfState, InBf16FollowsTheSeedOfTheRun) {
  const planner::Job job = with(small_jobs()[0].job, StateType::bf16);
  const planner::Plan plan = planner::uniform_plan(job, planner::UnitPlan{}, 1);
  const planner::StepGraph graph = graph_of(job, plan);
  std::vector<std::string> states;
  for (const std::uint64_t seed : {1, 1, 2}) {
    RunTokens tokens(job);
    const auto session = make_session(job, graph, plan, tokens);
    session->round_by(seed);
    session->run_to(1);
    states.push_back(session->state().state_sha256());
  }
  EXPECT_EQ(states[0], states[1]);
  EXPECT_NE(states[0], states[2]);
}

}  // namespace
}  // namespace sluice::engine::test
