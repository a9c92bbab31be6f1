// Plans never change results. SLUICE_PLAN_SEED selects other plans.
#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <set>

#include "planner/plans/random_plan.hpp"
#include "tests/engine/run_plan.hpp"

namespace sluice::engine::test {
namespace {

constexpr std::int64_t kSteps = 3;
constexpr std::uint64_t kPlansOfAJob = 9;  // With eight jobs this makes 72 plans.

std::uint64_t first_seed() {
  const char* text = std::getenv("SLUICE_PLAN_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

planner::Plan plain_plan(const planner::Job& job) {
  return planner::uniform_plan(job, planner::UnitPlan{}, 1);
}

TEST(Fp8PlanInvariance, RandomPlansGiveTheBitsOfThePlainPlan) {
  const planner::Job job = fp8_job();
  const Outcome expected = run_plan(job, plain_plan(job), 2);
  for (std::uint64_t i = 0; i < 4; ++i) {
    const planner::Plan plan = planner::random_plan(job, first_seed() * 1000 + i);
    EXPECT_EQ(run_plan(job, plan, 2), expected) << describe(plan);
  }
}

/// A small job whose blocks' matrices Muon has.
planner::Job muon_job(std::size_t small_job) {
  planner::Job job = small_jobs()[small_job].job;
  job.optimizer.kind = planner::OptimizerKind::muon;
  return job;
}

planner::Plan updated_on_device(const planner::Job& job) {
  return planner::uniform_plan(
      job, {.executor = planner::Executor::gpu, .when = planner::When::after}, 1);
}

TEST(MuonPlanInvariance, RandomPlansGiveTheBitsOfOnePlan) {
  for (const std::size_t small_job : {1U, 3U, 6U}) {
    const planner::Job job = muon_job(small_job);
    const Outcome expected = run_plan(job, updated_on_device(job), 2);
    for (std::uint64_t i = 0; i < 3; ++i) {
      const planner::Plan plan = planner::random_plan(job, first_seed() * 1000 + i);
      EXPECT_EQ(run_plan(job, plan, 2), expected) << describe(plan);
    }
  }
}

TEST(MuonPlanInvariance, EmbeddingAndHeadMayBeUpdatedOnTheCpu) {
  planner::Job job = muon_job(0);
  job.optimizer.clip.reset();
  const Outcome expected = run_plan(job, updated_on_device(job), 2);
  planner::Plan plan = planner::uniform_plan(job,
                                             {.weights = planner::Tier::hbm,
                                              .executor = planner::Executor::gpu,
                                              .when = planner::When::backward,
                                              .staging = planner::Staging::ring},
                                             job.micro_batches());
  plan.state_buffers = 2;
  plan.units.front() = plan.units.back() = {};
  EXPECT_EQ(run_plan(job, plan, 2), expected) << describe(plan);
}

TEST(MuonPlanInvariance, TheDeviceHoldsSecondMomentsOfVectorsAlone) {
  const planner::Job job = muon_job(0);
  const planner::UnitPlan resident{.weights = planner::Tier::hbm,
                                   .gradients = planner::Tier::hbm,
                                   .state = planner::Tier::hbm,
                                   .executor = planner::Executor::gpu,
                                   .when = planner::When::after};
  planner::Job adamw = job;
  adamw.optimizer.kind = planner::OptimizerKind::adamw;
  const auto state_of = [](const planner::StepGraph& graph) {
    std::int64_t bytes = 0;
    for (const planner::StepTensor& tensor : graph.tensors) {
      if (tensor.persistent) bytes += tensor.bytes.count();
    }
    return bytes;
  };
  std::int64_t matrices = 0;
  for (std::size_t unit = 1; unit + 1 < planner::unit_count(job.model); ++unit) {
    for (const planner::TensorSpec& tensor : planner::unit_tensors(job.model, unit).tensors) {
      if (tensor.rows > 1) matrices += tensor.size();
    }
  }
  const planner::StepGraph by_muon = graph_of(job, planner::uniform_plan(job, resident, 1));
  const planner::StepGraph by_adamw = graph_of(adamw, planner::uniform_plan(adamw, resident, 1));
  EXPECT_EQ(state_of(by_adamw) - state_of(by_muon), 4 * matrices);
}

class PlanInvariance : public ::testing::TestWithParam<std::size_t> {
 protected:
  planner::Job job() const { return small_jobs()[GetParam()].job; }
};

TEST_P(PlanInvariance, RandomPlansGiveTheBitsOfThePlainPlan) {
  const Outcome expected = run_plan(job(), plain_plan(job()), kSteps);
  ASSERT_EQ(expected.losses.size(), static_cast<std::size_t>(kSteps));
  for (std::uint64_t i = 0; i < kPlansOfAJob; ++i) {
    const std::uint64_t seed = first_seed() * 1000 + i;
    const planner::Plan plan = planner::random_plan(job(), seed);
    const Outcome outcome = run_plan(job(), plan, kSteps);
    EXPECT_EQ(outcome.losses, expected.losses) << "seed " << seed << ": " << describe(plan);
    EXPECT_EQ(outcome.weights_sha256, expected.weights_sha256)
        << "seed " << seed << ": " << describe(plan);
    EXPECT_EQ(outcome.state_sha256, expected.state_sha256)
        << "seed " << seed << ": " << describe(plan);
    EXPECT_EQ(outcome.validation, expected.validation) << "seed " << seed << ": " << describe(plan);
  }
}

TEST_P(PlanInvariance, StateThatLiesWhereRecordsWereGivesTheBitsOfThePlainPlan) {
  planner::Job longer = job();
  longer.seq_len = 512;  // Records take more memory than state.
  const Outcome expected = run_plan(longer, plain_plan(longer), kSteps);
  for (const planner::Tier weights : {planner::Tier::hbm, planner::Tier::host}) {
    planner::Plan plan = planner::uniform_plan(longer,
                                               {.weights = weights,
                                                .gradients = planner::Tier::hbm,
                                                .keep = planner::Keep::all,
                                                .executor = planner::Executor::gpu,
                                                .when = planner::When::after},
                                               1);
    plan.copy_chunk = Bytes(4096);
    plan.state_buffers = static_cast<std::int64_t>(plan.units.size());
    const Bytes apart = graph_of(longer, plan).layout.device_bytes;
    plan.state_buffers = 0;
    EXPECT_LT(graph_of(longer, plan).layout.device_bytes, apart);
    EXPECT_EQ(run_plan(longer, plan, kSteps), expected) << describe(plan);
    // Every other unit is updated on the CPU, so that both executors' traffic is in flight at once.
    for (std::size_t unit = 1; unit + 1 < plan.units.size(); unit += 2) {
      plan.units[unit] = {.keep = planner::Keep::all};
    }
    EXPECT_EQ(run_plan(longer, plan, kSteps), expected) << describe(plan);
  }
}

TEST_P(PlanInvariance, GradientsThatWaitNowhereGiveTheBitsOfThePlainPlan) {
  planner::Job unclipped = job();
  unclipped.optimizer.clip.reset();
  const Outcome expected = run_plan(unclipped, plain_plan(unclipped), kSteps);
  planner::Plan plan = planner::uniform_plan(
      unclipped, {.gradients = planner::Tier::hbm, .when = planner::When::backward}, 1);
  for (const std::int64_t buffers : {1, 2}) {
    plan.gradient_buffers = buffers;
    EXPECT_EQ(run_plan(unclipped, plan, kSteps), expected) << describe(plan);
  }
  // Other units are resident, and wait.
  for (std::size_t unit = 1; unit + 1 < plan.units.size(); ++unit) {
    if (unit % 3 == 0) {
      plan.units[unit].when = planner::When::forward;
    } else if (unit % 3 == 1) {
      plan.units[unit] = {.weights = planner::Tier::hbm,
                          .gradients = planner::Tier::hbm,
                          .state = planner::Tier::hbm,
                          .executor = planner::Executor::gpu,
                          .when = planner::When::backward};
    }
  }
  EXPECT_EQ(run_plan(unclipped, plan, kSteps), expected) << describe(plan);
}

TEST_P(PlanInvariance, StateThatPassesThroughARingGivesTheBitsOfThePlainPlan) {
  planner::Job ringed = job();
  const auto expect_bits = [&](planner::When when) {
    const Outcome expected = run_plan(ringed, plain_plan(ringed), kSteps);
    for (const planner::Tier weights : {planner::Tier::hbm, planner::Tier::host}) {
      for (const planner::Tier gradients : {planner::Tier::hbm, planner::Tier::host}) {
        for (const std::int64_t rounds : {std::int64_t{1}, ringed.micro_batches()}) {
          planner::Plan plan = planner::uniform_plan(ringed,
                                                     {.weights = weights,
                                                      .gradients = gradients,
                                                      .executor = planner::Executor::gpu,
                                                      .when = when,
                                                      .staging = planner::Staging::ring},
                                                     rounds);
          plan.state_buffers = weights == planner::Tier::hbm ? 1 : 2;
          plan.copy_chunk = Bytes(4096);
          EXPECT_EQ(run_plan(ringed, plan, kSteps), expected) << describe(plan);
          plan.units[2] = {};  // The CPU updates a block between.
          if (ringed.model.tied_head || gradients == planner::Tier::hbm) plan.units[1] = {};
          EXPECT_EQ(run_plan(ringed, plan, kSteps), expected) << describe(plan);
        }
      }
    }
  };
  expect_bits(planner::When::after);
  ringed.optimizer.clip.reset();
  expect_bits(planner::When::backward);
}

TEST_P(PlanInvariance, GradientsThatFollowTheirStateGiveTheBitsOfThePlainPlan) {
  const Outcome expected = run_plan(job(), plain_plan(job()), kSteps);
  planner::Plan plan = planner::uniform_plan(
      job(), {.executor = planner::Executor::gpu, .when = planner::When::after}, 1);
  for (const std::int64_t slots : {0, 2}) {
    plan.state_buffers = slots;
    EXPECT_EQ(run_plan(job(), plan, kSteps), expected) << describe(plan);
  }
}

TEST_P(PlanInvariance, TwoRunsOfOnePlanAreEqual) {
  const planner::Plan plan = planner::random_plan(job(), first_seed());
  EXPECT_EQ(run_plan(job(), plan, kSteps), run_plan(job(), plan, kSteps));
}

TEST_P(PlanInvariance, EvaluatingBetweenStepsChangesNothing) {
  const planner::Plan plan = planner::random_plan(job(), first_seed() + 1);
  RunTokens tokens(job());
  const planner::StepGraph graph = graph_of(job(), plan);
  const auto session = make_session(job(), graph, plan, tokens);
  const auto windows = [&tokens](std::int64_t first, std::span<std::int32_t> inputs,
                                 std::span<std::int32_t> targets) {
    tokens.read(500 + first, inputs, targets);
  };
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    (void)session->evaluation().mean_loss(3, windows);
    session->run_to(step);
  }
  EXPECT_EQ(session->state().weights_sha256(), run_plan(job(), plan, kSteps).weights_sha256);
}

std::string test_name(const ::testing::TestParamInfo<std::size_t>& info) {
  const NamedJob job = small_jobs()[info.param];
  std::string name;
  for (const char c : job.name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(SmallJobs, PlanInvariance,
                         ::testing::Range<std::size_t>(0, small_jobs().size()), test_name);

TEST(RunPlan, ThePlansOfThisSuiteCoverEveryValueOfEveryUnitField) {
  std::set<planner::Tier> weights, gradients, state, keep_tier;
  std::set<planner::Keep> keep;
  std::set<planner::Executor> executor;
  std::set<planner::When> when;
  std::set<planner::Staging> staging;
  std::set<std::int64_t> rounds;
  for (const NamedJob& each : small_jobs()) {
    for (std::uint64_t i = 0; i < kPlansOfAJob; ++i) {
      const planner::Plan plan = planner::random_plan(each.job, first_seed() * 1000 + i);
      rounds.insert(plan.rounds);
      for (const planner::UnitPlan& unit : plan.units) {
        weights.insert(unit.weights);
        gradients.insert(unit.gradients);
        state.insert(unit.state);
        keep_tier.insert(unit.keep_tier);
        keep.insert(unit.keep);
        executor.insert(unit.executor);
        when.insert(unit.when);
        staging.insert(unit.staging);
      }
    }
  }
  for (const auto* tiers : {&weights, &gradients, &state, &keep_tier}) {
    EXPECT_EQ(*tiers, (std::set{planner::Tier::hbm, planner::Tier::host}));
  }
  EXPECT_EQ(keep.size(), 3U);
  EXPECT_EQ(executor.size(), 2U);
  EXPECT_EQ(when.size(), 3U);
  EXPECT_EQ(staging.size(), 2U);
  EXPECT_GE(rounds.size(), 3U);
}

TEST(Session, TrainingLowersTheLossOnTokensItHasSeen) {
  // Repeats one batch: the loss must fall far below that of guessing, log 64 = 4.16.
  class OneBatch : public TokenSource {
   public:
    void read(std::int64_t, std::span<std::int32_t> inputs,
              std::span<std::int32_t> targets) override {
      tokens_.read(0, inputs, targets);
    }

   private:
    SyntheticTokens tokens_{64, 5};
  } tokens;
  planner::Job job = small_jobs()[0].job;
  const planner::Plan plan = plain_plan(job);
  const planner::StepGraph graph = graph_of(job, plan);
  const auto session = make_session(job, graph, plan, tokens);
  double first = 0, last = 0;
  session->run_to(60, [&](std::int64_t step, const StepResult& result) {
    (step == 1 ? first : last) = result.loss;
  });
  EXPECT_NEAR(first, 4.16, 0.2);
  EXPECT_LT(last, 0.7 * first);
}

}  // namespace
}  // namespace sluice::engine::test
