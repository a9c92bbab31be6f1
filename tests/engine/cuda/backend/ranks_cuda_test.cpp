// Training on several GPUs: losses, norms and state have the bits of one GPU, whatever the number
// of ranks and the plan.
#include "engine/cuda/backend/cuda_device.hpp"
#include "engine/training/session.hpp"
#include "planner/layout/laid_out.hpp"
#include "planner/models/slices.hpp"
#include "planner/plans/random_plan.hpp"
#include "tests/engine/cuda/backend/training_job.hpp"
#include "tests/engine/cuda/fabric/gpus.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::engine {
namespace {

using cuda::testing::why_not_on_gpus;

constexpr std::uint64_t kRankSeed = 11;
constexpr std::int64_t kRankSteps = 3;

/// The job with eight micro-batches in four groups.
planner::Job grouped_job() {
  planner::Job job = training_job();
  job.batch_size = 8;
  job.groups = 4;
  return job;
}

struct RankOutcome {
  std::vector<double> losses, norms;
  std::string weights, state;
  std::optional<double> validation;
};

std::unique_ptr<Session> open_ranks(const planner::Job& job, const planner::Plan& plan,
                                    TokenSource& tokens) {
  const planner::StepGraph graph = planner::build_step_graph(
      job, plan, planner::test::RoundCosts(1e9, planner::DeviceKind::cuda));
  const ArenaSizes sizes{graph.layout.device_bytes, graph.layout.host_bytes};
  SessionRanks ranks;
  for (int rank = 0; rank < plan.ranks; ++rank) {
    const World world{rank, static_cast<int>(plan.ranks)};
    ranks.devices.push_back(std::make_unique<CudaDevice>(
        job, CudaDeviceSettings{.arenas = sizes,
                                .capacity = sizes,
                                .threads = static_cast<int>(plan.threads),
                                .world = world,
                                .here = world}));
  }
  return std::make_unique<Session>(
      job, graph, std::move(ranks), tokens, [&](std::int64_t) { return job.optimizer.lr; },
      InitialWeights(kRankSeed));
}

RankOutcome train_on_ranks(const planner::Job& job, const planner::Plan& plan) {
  SyntheticTokens tokens(job.model.vocab, kRankSeed);
  const auto session = open_ranks(job, plan, tokens);
  RankOutcome outcome;
  session->run_to(kRankSteps, [&](std::int64_t, const StepResult& result) {
    outcome.losses.push_back(result.loss);
    outcome.norms.push_back(result.grad_norm);
  });
  outcome.weights = session->state().weights_sha256();
  outcome.state = session->state().state_sha256();
  outcome.validation = session->evaluation().mean_loss(
      5, [&](std::int64_t first, std::span<std::int32_t> inputs, std::span<std::int32_t> targets) {
        tokens.read(1000 + first, inputs, targets);
      });
  return outcome;
}

void expect_equal_ranks(const RankOutcome& outcome, const RankOutcome& expected,
                        const std::string& where) {
  EXPECT_EQ(outcome.losses, expected.losses) << where;
  EXPECT_EQ(outcome.norms, expected.norms) << where;
  EXPECT_EQ(outcome.weights, expected.weights) << where;
  EXPECT_EQ(outcome.state, expected.state) << where;
  EXPECT_EQ(outcome.validation, expected.validation) << where;
}

class CudaRanks : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    const std::string why = why_not_on_gpus(GetParam());
    if (!why.empty()) GTEST_SKIP() << why;
  }
};

TEST_P(CudaRanks, RandomPlansGiveTheBitsOfOneGpu) {
  for (const bool tied : {false, true}) {
    planner::Job job = grouped_job();
    job.model.tied_head = tied;
    if (tied) job.gradient_wire = planner::GradientWire::bf16;
    const RankOutcome expected =
        train_on_ranks(job, planner::uniform_plan(job, planner::UnitPlan{}, 1));
    ASSERT_EQ(expected.losses.size(), static_cast<std::size_t>(kRankSteps));
    ASSERT_TRUE(expected.validation.has_value());
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      const planner::Plan plan = planner::random_plan(job, seed, GetParam());
      ASSERT_EQ(plan.ranks, GetParam());
      expect_equal_ranks(train_on_ranks(job, plan), expected,
                         (tied ? "tied, seed " : "seed ") + std::to_string(seed));
    }
  }
}

TEST_P(CudaRanks, AMixtureOfExpertsHasTheBitsOfOneGpu) {
  planner::Job job = grouped_job();
  job.model.family = planner::Family::qwen3_moe;
  job.model.qkv_bias = false;
  job.model.head_norm = planner::HeadNorm::per_head;
  job.model.experts = planner::Experts{.count = 8, .active = 2, .intermediate = 160};
  job.router_aux_loss_coef = 0.02;
  const RankOutcome expected =
      train_on_ranks(job, planner::uniform_plan(job, planner::UnitPlan{}, 1));
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    expect_equal_ranks(train_on_ranks(job, planner::random_plan(job, seed, GetParam())), expected,
                       "seed " + std::to_string(seed));
  }
}

/// Tokens of which one read fails.
class TokensThatFailOnce : public TokenSource {
 public:
  TokensThatFailOnce(std::int64_t vocab, int read) : good_(vocab, kRankSeed), left_(read) {}
  void read(std::int64_t position, std::span<std::int32_t> inputs,
            std::span<std::int32_t> targets) override {
    if (--left_ == 0) throw EnvironmentError("the data ended");
    good_.read(position, inputs, targets);
  }

 private:
  SyntheticTokens good_;
  int left_;
};

TEST_P(CudaRanks, ARankThatFailsEndsAllWithItsError) {
  const planner::Job job = grouped_job();
  // Each rank reads a whole step at once, to count targets: the failure is in the second step.
  TokensThatFailOnce tokens(job.model.vocab, GetParam() + 2);
  const auto session = open_ranks(job, planner::random_plan(job, 1, GetParam()), tokens);
  try {
    session->run_to(kRankSteps);
    FAIL() << "nobody failed";
  } catch (const EnvironmentError& error) {
    EXPECT_STREQ(error.what(), "the data ended");
  }
}

INSTANTIATE_TEST_SUITE_P(Gpus, CudaRanks, ::testing::ValuesIn(cuda::testing::kGpus),
                         [](const auto& info) { return std::to_string(info.param); });

}  // namespace
}  // namespace sluice::engine
