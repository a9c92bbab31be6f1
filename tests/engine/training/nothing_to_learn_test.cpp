// A step whose sequences have no target to learn changes no bit of weights and moments.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine/datasets/token_source.hpp"
#include "planner/plans/random_plan.hpp"
#include "tests/engine/run_plan.hpp"

namespace sluice::engine::test {
namespace {

/// Tokens of a run, of whose steps some have no target.
class PartlyMasked : public TokenSource {
 public:
  PartlyMasked(const planner::Job& job, std::set<std::int64_t> without)
      : batch_(job.batch_size), tokens_(job), without_(std::move(without)) {}
  void read(std::int64_t position, std::span<std::int32_t> inputs,
            std::span<std::int32_t> targets) override {
    tokens_.read(position, inputs, targets);
    if (without_.contains(position / batch_ + 1)) std::ranges::fill(targets, kMaskedTarget);
  }

 private:
  std::int64_t batch_;
  RunTokens tokens_;
  std::set<std::int64_t> without_;
};

class NothingToLearn : public ::testing::TestWithParam<std::size_t> {
 protected:
  planner::Job job() const {
    planner::Job job = small_jobs()[GetParam()].job;
    job.optimizer.weight_decay = 0.1;
    return job;
  }
};

TEST_P(NothingToLearn, AStepWithoutTargetsLeavesWeightsAndMomentsAsTheyAre) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const planner::Plan plan = planner::random_plan(job(), seed);
    const planner::StepGraph graph = graph_of(job(), plan);
    PartlyMasked tokens(job(), {2, 3});
    const auto session = make_session(job(), graph, plan, tokens);
    const auto step_to = [&](std::int64_t last) {
      StepResult result;
      session->run_to(last, [&](std::int64_t, const StepResult& done) { result = done; });
      return result;
    };
    EXPECT_GT(step_to(1).targets, 0);
    const std::string state = session->state().state_sha256();
    const std::string weights = session->state().weights_sha256();
    const StepResult empty = step_to(3);
    EXPECT_EQ(empty.targets, 0);
    EXPECT_EQ(empty.loss, 0);
    EXPECT_EQ(session->state().state_sha256(), state) << describe(plan);
    EXPECT_EQ(session->state().weights_sha256(), weights) << describe(plan);
    EXPECT_GT(step_to(4).targets, 0);
    EXPECT_NE(session->state().weights_sha256(), weights) << describe(plan);
  }
}

TEST_P(NothingToLearn, AnEvaluationWithoutTargetsHasNoLoss) {
  const planner::Plan plan = planner::random_plan(job(), 1);
  const planner::StepGraph graph = graph_of(job(), plan);
  PartlyMasked tokens(job(), {1});
  const auto session = make_session(job(), graph, plan, tokens);
  const auto windows_from = [&](std::int64_t position) {
    return [&tokens, position](std::int64_t first, std::span<std::int32_t> inputs,
                               std::span<std::int32_t> targets) {
      tokens.read(position + first, inputs, targets);
    };
  };
  EXPECT_FALSE(session->evaluation().mean_loss(2, windows_from(0)));
  EXPECT_GT(session->evaluation().mean_loss(2, windows_from(job().batch_size)).value(), 0);
}

INSTANTIATE_TEST_SUITE_P(SmallJobs, NothingToLearn,
                         ::testing::Range<std::size_t>(0, small_jobs().size()));

}  // namespace
}  // namespace sluice::engine::test
