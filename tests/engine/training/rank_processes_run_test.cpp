// Runs whose ranks are processes: the bits of one rank, and one line everywhere when one is killed.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <string>

#include "engine/ranks/gloo_rank.hpp"
#include "engine/run_folders/run_folder.hpp"
#include "engine/state/saving.hpp"
#include "engine/state/state_snapshot.hpp"
#include "tests/engine/scratch_folder.hpp"
#include "tests/engine/training/rank_jobs.hpp"

namespace sluice::engine::test {
namespace {

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Runs `steps` steps as rank `rank` of a run that meets in `folder`. Returns the bits of its
/// losses and of its state, or the line in which it ended; `step_done` is called after each step.
/// `saves`: the folder of the run that it saves its state in, if any.
std::string run_as_process(const planner::Job& job, const planner::Plan& plan, int rank,
                           const std::filesystem::path& folder, std::int64_t steps,
                           const std::optional<std::filesystem::path>& saves,
                           const std::function<void(std::int64_t)>& step_done) {
  std::string outcome;
  try {
    FolderBoard board(folder);
    GlooRank mine({rank, static_cast<int>(plan.ranks)}, board,
                  {.patience = std::chrono::minutes(1)});
    const RankLinks links{&mine.control(), &mine.fabric()};
    RunTokens tokens(job);
    const planner::StepGraph graph = graph_of(job, plan);
    SessionRanks ranks = rank_devices(job, graph, plan, {}, links);
    ranks.agreed = {{"plan hash", planner::plan_hash(plan), "use one plan"}};
    const double lr = job.optimizer.lr;
    Session session(
        job, graph, std::move(ranks), tokens,
        [lr](std::int64_t step) { return lr / static_cast<double>(step); }, kRunSeed);
    session.run_to(steps, [&](std::int64_t step, const StepResult& result) {
      outcome += bits_of(result) + "\n";
      step_done(step);
    });
    StateSnapshot all(job.model, session.state());
    all.take(session.state(), links);
    outcome += all.hashes().weights + "\n" + all.hashes().moments;
    if (saves) {
      const RunFolder run(*saves, "small");
      Saving saving(run, job.model, session.state(),
                    {.config = config_of(job.model), .links = links});
      saving.save_now(facts_of_step(steps), session.state(), Saving::Older::finished);
      for (const SaveReport& report : saving.ended()) outcome += report.failure;
    }
    mine.control().barrier();
  } catch (const std::exception& error) {
    outcome = error.what();
  }
  return outcome;
}

std::string bits_of_one_rank(const planner::Job& job, std::int64_t steps) {
  const Outcome outcome = run_plan(job, plain_rank_plan(job, 1), steps);
  std::string bits;
  for (const std::string& each : outcome.losses) bits += each + "\n";
  return bits + outcome.weights_sha256 + "\n" + outcome.state_sha256;
}

class RunOfProcesses : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_gloo()) GTEST_SKIP() << "this build has no Gloo (libgloo-dev)";
  }
  /// Starts a process as `rank`, whose outcome goes to the file "rank-N".
  void start(const planner::Job& job, const planner::Plan& plan, int rank, std::int64_t steps,
             const std::optional<std::filesystem::path>& saves = std::nullopt) {
    const pid_t child = fork();
    if (child == 0) {
      const std::string outcome = run_as_process(
          job, plan, rank, folder_.path() / "board", steps, saves, [&](std::int64_t step) {
            if (rank == 0 && step == 2) std::ofstream(folder_.path() / "at-work") << "yes";
          });
      std::ofstream(folder_.path() / ("rank-" + std::to_string(rank))) << outcome << std::flush;
      _exit(0);
    }
    children_.push_back(child);
  }
  std::string outcome_of(int rank) {
    pid_t& child = children_[static_cast<std::size_t>(rank)];
    if (child > 0) waitpid(child, nullptr, 0);
    child = 0;
    return text_of(folder_.path() / ("rank-" + std::to_string(rank)));
  }
  void TearDown() override {
    for (const pid_t child : children_) {
      if (child > 0) kill(child, SIGKILL);
      if (child > 0) waitpid(child, nullptr, 0);
    }
  }

  ScratchFolder folder_;
  std::vector<pid_t> children_;
};

/// Four ranks that share weights, on so many hosts.
class RunThatShares : public RunOfProcesses, public ::testing::WithParamInterface<int> {};

TEST_P(RunThatShares, GivesTheBitsOfOneRank) {
  const planner::Job job = ranked_jobs(4)[3].job;
  planner::Plan plan = plain_rank_plan(job, 4);
  plan.gather = planner::Gather::host;
  plan.hosts = GetParam();
  for (int rank = 0; rank < 4; ++rank) start(job, plan, rank, 3);
  const std::string expected = bits_of_one_rank(job, 3);
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(outcome_of(rank), expected);
}

INSTANTIATE_TEST_SUITE_P(Hosts, RunThatShares, ::testing::Values(1, 2, 4));

TEST_F(RunOfProcesses, GivesTheBitsOfOneRankOnEachOfThem) {
  const planner::Job job = ranked_jobs(4)[3].job;
  const planner::Plan plan = planner::random_plan(job, 7, 4);
  for (int rank = 0; rank < 4; ++rank) start(job, plan, rank, 2);
  std::vector<std::string> outcomes;
  for (int rank = 0; rank < 4; ++rank) outcomes.push_back(outcome_of(rank));
  const std::string expected = bits_of_one_rank(job, 2);
  for (const std::string& each : outcomes) EXPECT_EQ(each, expected);
}

TEST_F(RunOfProcesses, SavesTheFilesOfOneRankOnce) {
  const planner::Job job = ranked_jobs(2).front().job;
  const planner::Plan plan = planner::random_plan(job, 9, 2);
  for (int rank = 0; rank < 2; ++rank) {
    start(job, plan, rank, 2, folder_.path() / ("run-" + std::to_string(rank)));
  }
  const std::string expected = bits_of_one_rank(job, 2);
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(outcome_of(rank), expected);
  const planner::Plan alone = plain_rank_plan(job, 1);
  RunTokens tokens(job);
  const auto session = make_session(job, graph_of(job, alone), alone, tokens);
  session->run_to(2);
  const auto written = write_checkpoint(folder_.path() / "alone", facts_of_step(2),
                                        config_of(job.model), session->state());
  const auto files = files_in(written);
  EXPECT_GE(files.size(), 5U);
  EXPECT_TRUE(files_in(folder_.path() / "run-0/checkpoints/step-2") == files);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "run-1/checkpoints/step-2"));
}

TEST_F(RunOfProcesses, EndsEverywhereInOneLineWhereARankIsKilled) {
  const planner::Job job = ranked_jobs(4).front().job;
  const planner::Plan plan = plain_rank_plan(job, 4);
  for (int rank = 0; rank < 4; ++rank) start(job, plan, rank, 1'000'000);
  while (!std::filesystem::exists(folder_.path() / "at-work")) usleep(1000);
  ASSERT_EQ(kill(children_[2], SIGKILL), 0);
  EXPECT_EQ(outcome_of(2), "");
  for (const int rank : {0, 1, 3}) {
    EXPECT_EQ(outcome_of(rank),
              "rank 2 ended and said nothing: see what its process and the system wrote (was it "
              "killed, or is memory short?)");
  }
}

TEST_F(RunOfProcesses, IsRefusedWhereARankHasAnotherPlan) {
  const planner::Job job = ranked_jobs(2).front().job;
  planner::Plan other = plain_rank_plan(job, 2);
  start(job, other, 0, 2);
  ++other.threads;
  start(job, other, 1, 2);
  const std::string line = outcome_of(0);
  EXPECT_EQ(line.find("rank 1 has another plan hash than rank 0"), 0U) << line;
  EXPECT_EQ(outcome_of(1), line);
}

}  // namespace
}  // namespace sluice::engine::test
