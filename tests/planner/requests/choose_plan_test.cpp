#include "planner/requests/choose_plan.hpp"

#include <gtest/gtest.h>

#include "planner/plans/plan_file.hpp"
#include "planner/requests/run_step.hpp"
#include "tests/planner/refusal.hpp"
#include "tests/planner/requests/run_of.hpp"

namespace sluice::planner {
namespace {

using test::empty_store;
using test::run_on_h200;
using test::ScratchFolder;

/// A plan that no policy and no search of these tests gives: every block streamed, four buffers.
Plan plan_of_four_slots(const Job& job) {
  Plan plan = uniform_plan(job, {}, 1);
  set_weight_buffers(plan, 4);
  return plan;
}

PlanFile file_of(const RunConfig& run, const Store& store) {
  RunConfig plain = run;
  plain.plan.reset();
  plain.policy.reset();
  const Request request = resolve(plain, store);
  return to_plan_file(request.predictor.predict(plan_of_four_slots(request.job())).prediction);
}

Request resolved(const RunConfig& run, const Store& store) {
  Request request = resolve(run, store);
  request.search.effort = kQuickEffort / 4;
  return request;
}

ChosenPlan chosen_of(const Request& request, const PlanOptions& options = {}) {
  return std::get<ChosenPlan>(choose_plan(request, options));
}

TEST(ChoosePlan, APlanFileCountsBeforeAPolicyAndBothBeforeTheStore) {
  const ScratchFolder folder;
  const Store store(folder.path());
  RunConfig run = run_on_h200();
  const PlanFile file = file_of(run, store);
  store.save(file);
  const PlanOptions stored{.stored = true};

  EXPECT_EQ(chosen_of(resolved(run, store)).source, PlanSource::searched) << "not asked for";
  const ChosenPlan kept = chosen_of(resolved(run, store), stored);
  EXPECT_EQ(kept.source, PlanSource::stored);
  EXPECT_EQ(kept.step().prediction.plan_hash, plan_hash(file.plan));

  run.policy = "resident";
  const ChosenPlan by_policy = chosen_of(resolved(run, store), stored);
  EXPECT_EQ(by_policy.source, PlanSource::policy);
  EXPECT_EQ(by_policy.step().prediction.plan.units[1].state, Tier::hbm);
  EXPECT_EQ(describe_source(by_policy, run), "the plan of policy resident");

  write_plan_file(file, folder.path() / "plan.json");
  run.policy.reset();
  run.plan = folder.path() / "plan.json";
  EXPECT_EQ(chosen_of(resolved(run, store), stored).source, PlanSource::file);
  run.policy = folder.write("mine.yaml", "name: mine\nplan: {weights: hbm}\n");
  const ChosenPlan by_file = chosen_of(resolved(run, store), stored);
  EXPECT_EQ(by_file.source, PlanSource::file);
  EXPECT_EQ(by_file.step().prediction.plan_hash, plan_hash(file.plan));
}

TEST(ChoosePlan, AStoredPlanServesOnlyWhereItGoesWithTheRun) {
  const ScratchFolder folder;
  const Store store(folder.path());
  RunConfig run = run_on_h200();
  store.save(file_of(run, store));
  const PlanOptions options{.stored = true};
  RunConfig pinned = run;
  pinned.plan_overrides = {{"weight_buffers", "1"}};
  const ChosenPlan with_pins = chosen_of(resolved(pinned, store), options);
  EXPECT_EQ(with_pins.source, PlanSource::stored);
  EXPECT_EQ(with_pins.step().prediction.plan.weight_buffers, 1);
  RunConfig small = run;
  small.limits.host = Bytes(1 << 20);
  const auto found = choose_plan(resolved(small, store), options);
  const auto* other = std::get_if<ChosenPlan>(&found);
  EXPECT_TRUE(other == nullptr || other->source == PlanSource::searched);
}

TEST(ChoosePlan, OnlyASearchSaysHowFarFromTheBestItsPlanIs) {
  RunConfig run = run_on_h200();
  const Store store = empty_store();
  EXPECT_GT(chosen_of(resolved(run, store)).planned.simulated, 0);
  run.policy = "resident";
  EXPECT_EQ(chosen_of(resolved(run, store)).planned.simulated, 0);
}

TEST(ChoosePlan, AGivenPlanThatDoesNotFitIsRefusedOrKept) {
  RunConfig run = run_on_h200();
  run.policy = "resident";
  const Store store = empty_store();
  const Bytes peak = at(chosen_of(resolved(run, store)).step().prediction.memory, Tier::hbm).peak;
  run.limits.hbm = peak - Bytes(1);
  const Request request = resolved(run, store);
  const auto refused = std::get<Infeasible>(choose_plan(request, {.remedies = false}));
  EXPECT_EQ(refused.tier, Tier::hbm);
  EXPECT_EQ(refused.short_by, Bytes(1));
  EXPECT_TRUE(refused.remedies.empty());
  const auto helped = std::get<Infeasible>(choose_plan(request));
  ASSERT_FALSE(helped.remedies.empty());
  EXPECT_TRUE(helped.remedies.front().setting.starts_with("--policy="));
  const ChosenPlan kept = chosen_of(request, {.unfit = Unfit::kept});
  EXPECT_FALSE(kept.step().prediction.fits);
  EXPECT_EQ(remedies_for(kept, request).size(), helped.remedies.size());
}

TEST(ChoosePlan, RefusesAFileForAnotherJobAndWhatIsOnlyPredicted) {
  const ScratchFolder folder;
  const Store store(folder.path());
  RunConfig run = run_on_h200();
  write_plan_file(file_of(run, store), folder.path() / "plan.json");
  run.batch_size = 4;
  run.plan = folder.path() / "plan.json";
  EXPECT_ANY_THROW((void)choose_plan(resolved(run, store)));
  RunConfig narrow = run_on_h200();
  narrow.policy = "zero-infinity";
  narrow.optimizer.state = StateType::bf16_weights;
  const Request request = resolved(narrow, store);
  EXPECT_NO_THROW((void)choose_plan(request));
  EXPECT_REFUSED((void)choose_plan(request, {.executable = true}),
                 "predicted and not executed in this version");
}

TEST(ChoosePlan, AStepLooksForAPlanWhateverFileTheRunNames) {
  RunConfig run = run_on_h200();
  run.plan = "/nonexistent/plan.json";
  const Request request = resolve(run, empty_store());
  EXPECT_ANY_THROW((void)choose_plan(request));
  EXPECT_TRUE(step_of(request, kQuickEffort / 4).has_value());
}

}  // namespace
}  // namespace sluice::planner
