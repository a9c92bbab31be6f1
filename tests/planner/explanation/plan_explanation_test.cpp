#include "planner/explanation/plan_explanation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "planner/effort/search_settings.hpp"
#include "planner/explanation/machine_resources.hpp"
#include "planner/explanation/more_kept.hpp"
#include "tests/planner/round_machine.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

using test::round_machine;
using test::tiny_job;

constexpr std::int64_t kExplanationEffort = 30'000;

/// A machine with `link` times the link rate of round_machine, and the plan that a search finds on
/// it.
class Explained {
 public:
  explicit Explained(double link, Residency residency = Residency::host)
      : predictor_(tiny_job(), machine(link), {}, residency) {
    settings_.effort = kExplanationEffort;
    settings_.exhaustive = 1;
    auto found = search(predictor_, settings_);
    step_ = std::move(std::get<Planned>(found).best);
    explanation_ = explain(step_, predictor_, {}, settings_, Replan::where_it_helps);
  }
  [[nodiscard]] const Predictor& predictor() const { return predictor_; }
  [[nodiscard]] const PredictedStep& step() const { return step_; }
  [[nodiscard]] const SearchSettings& settings() const { return settings_; }
  [[nodiscard]] const PlanExplanation& explanation() const { return explanation_; }

 private:
  static ResolvedMachine machine(double link) {
    return with_more(round_machine(), machine_resource("link"), link);
  }
  Predictor predictor_;
  SearchSettings settings_;
  PredictedStep step_;
  PlanExplanation explanation_;
};

TEST(PlanExplanation, TheWaterfallSumsToTheStepAndNothingAboveTheBoundIsNegative) {
  for (const double link : {0.01, 0.1, 1.0, 100.0}) {
    const Explained made(link);
    const Waterfall& fall = made.explanation().waterfall;
    EXPECT_EQ(std::accumulate(fall.terms.begin(), fall.terms.end(), fall.bound),
              made.step().prediction.step);
    EXPECT_EQ(fall.bound, std::chrono::round<Duration>(made.step().prediction.bound.time));
    // Two numbers rounded to whole nanoseconds.
    for (const Duration term : fall.terms) EXPECT_GE(term, Duration(-2)) << link;
  }
}

TEST(PlanExplanation, OnASlowLinkTheLinkIsRelaxedFirstAndOnAFastOneItIsNot) {
  const Explained slow(0.01);
  ASSERT_NE(slow.explanation().first(), nullptr);
  EXPECT_EQ(slow.explanation().first()->resource, "link");
  const Explained fast(100);
  ASSERT_NE(fast.explanation().first(), nullptr);
  EXPECT_NE(fast.explanation().first()->resource, "link");
}

TEST(PlanExplanation, EveryReliefIsWhatAPredictionFromScratchSays) {
  const Explained made(0.3);
  ASSERT_EQ(made.explanation().reliefs.size(), resources_of(made.step().prediction.plan).size());
  Duration before{0};
  for (const Relief& relief : made.explanation().reliefs) {
    const ResolvedMachine more =
        with_more(made.predictor().machine(), machine_resource(relief.resource), relief.factor);
    const Prediction p =
        Predictor(tiny_job(), more, {}, Residency::host).predict(relief.plan).prediction;
    EXPECT_TRUE(p.fits) << relief.resource;
    EXPECT_EQ(p.step, relief.step) << relief.resource;
    EXPECT_GE(relief.step, before) << "most helpful first";
    ASSERT_TRUE(relief.ratio.has_value()) << relief.resource;
    const Prediction& explained = made.step().prediction;
    EXPECT_NEAR(relief.ratio->ratio, to_seconds(relief.step) / to_seconds(explained.step), 1e-9);
    // The same plan on nearly the same machine is surer beside itself than alone.
    EXPECT_LT(relief.ratio->high / relief.ratio->ratio - 1,
              explained.step_high / to_seconds(explained.step) - 1)
        << relief.resource;
    before = relief.step;
  }
  EXPECT_LT(made.explanation().first()->step, made.step().prediction.step);
}

TEST(PlanExplanation, TheNextBottleneckHelpsOnceTheFirstIsRelieved) {
  const Explained made(0.3);
  ASSERT_TRUE(made.explanation().next.has_value());
  const NextBottleneck& next = *made.explanation().next;
  EXPECT_EQ(next.relieved.resource, made.explanation().first()->resource);
  EXPECT_LE(next.relieved.step, made.explanation().first()->step);
  EXPECT_NE(next.resource, next.relieved.resource);
  EXPECT_LT(next.step, next.relieved.step);
}

TEST(PlanExplanation, OnceTimeIsOverRatesAreCoarseAndSearchesAreLeftOut) {
  const Explained made(0.3);
  SearchSettings late = made.settings();
  late.until = Deadline::in(Seconds(0));
  const PlanExplanation hurried =
      explain(made.step(), made.predictor(), {}, late, Replan::where_it_helps);
  ASSERT_EQ(hurried.reliefs.size(), resources_of(made.step().prediction.plan).size());
  EXPECT_FALSE(hurried.left_out.empty());
  EXPECT_FALSE(hurried.next.has_value());
  EXPECT_TRUE(made.explanation().left_out.empty());
  const PlanExplanation as_is =
      explain(made.step(), made.predictor(), {}, made.settings(), Replan::never);
  for (const Relief& relief : hurried.reliefs) {
    EXPECT_FALSE(relief.searched) << relief.resource;
    const auto exact = std::ranges::find(as_is.reliefs, relief.resource, &Relief::resource);
    constexpr double kNear = 0.01;
    EXPECT_NEAR(to_seconds(relief.step) / to_seconds(exact->step), 1, kNear) << relief.resource;
  }
  ASSERT_NE(hurried.first(), nullptr);
  EXPECT_EQ(hurried.first()->resource, as_is.first()->resource);
}

TEST(PlanExplanation, APolicysPlanStaysWhatItIs) {
  const Explained made(0.3);
  const PlanExplanation kept =
      explain(made.step(), made.predictor(), {}, made.settings(), Replan::never);
  for (const Relief& relief : kept.reliefs) {
    EXPECT_FALSE(relief.searched);
    EXPECT_EQ(relief.plan, made.step().prediction.plan);
    const bool capacity = machine_resource(relief.resource).kind != ResourceKind::rate;
    if (capacity) {
      EXPECT_EQ(relief.step, made.step().prediction.step);
    }
  }
}

TEST(PlanExplanation, APlanFoundForAReliefThatIsFasterAnywayIsGivenBack) {
  // The plan to explain is made worse than the search's own.
  const Explained made(1);
  Plan slow = made.step().prediction.plan;
  for (UnitPlan& unit : slow.units) unit.when = When::after;
  slow.weight_buffers = 1;
  slow.prefetch_depth = 0;
  const PredictedStep worse = made.predictor().predict(slow);
  ASSERT_GT(worse.prediction.step, made.step().prediction.step);
  const PlanExplanation explanation =
      explain(worse, made.predictor(), {}, made.settings(), Replan::where_it_helps);
  const auto better = better_plan(explanation, made.predictor());
  ASSERT_TRUE(better.has_value());
  EXPECT_LT(made.predictor().predict(*better).prediction.step, worse.prediction.step);
}

TEST(KeepMore, UsesTheMemoryThatIsThereAndPins) {
  // A plan that recomputes every block, although there is room for all records.
  const Predictor predictor(tiny_job(), round_machine(), {}, Residency::host);
  const UnitPlan lean{.weights = Tier::host,
                      .gradients = Tier::host,
                      .state = Tier::host,
                      .keep = Keep::input,
                      .keep_tier = Tier::hbm};
  const Plan plan = uniform_plan(tiny_job(), lean, 1);
  const Prediction before = predictor.predict(plan).prediction;
  const auto more = keep_more(plan, before.step, predictor, {});
  ASSERT_TRUE(more.has_value());
  EXPECT_LT(more->step, before.step);
  const Prediction after = predictor.predict(more->plan).prediction;
  EXPECT_EQ(after.step, more->step);
  EXPECT_GT(at(after.memory, Tier::hbm).peak, at(before.memory, Tier::hbm).peak);
  for (std::size_t unit = 1; unit + 1 < plan.units.size(); ++unit) {
    EXPECT_NE(more->plan.units[unit].keep, Keep::input);
  }
  // In exactly the memory of that plan nothing more can be kept on the device; on the host records
  // may use the place that gradients take later.
  ResolvedMachine tight = round_machine();
  tight.hbm = at(before.memory, Tier::hbm).peak;
  tight.host = at(before.memory, Tier::host).peak;
  const Predictor there(tiny_job(), tight, {}, Residency::host);
  const Pins on_device = [](Plan& pinned) {
    for (UnitPlan& unit : pinned.units) unit.keep_tier = Tier::hbm;
  };
  EXPECT_FALSE(keep_more(plan, before.step, there, {.pins = on_device, .threads = 1}).has_value());
  const auto on_host = keep_more(plan, before.step, there, {});
  ASSERT_TRUE(on_host.has_value());
  EXPECT_TRUE(there.predict(on_host->plan).prediction.fits);
  const Pins pins = [](Plan& pinned) {
    for (UnitPlan& unit : pinned.units) unit.keep = Keep::input;
  };
  EXPECT_FALSE(keep_more(plan, before.step, predictor, {.pins = pins, .threads = 1}).has_value());
}

TEST(MachineResources, MoreOfOneScalesItsNumbersAndNoOthers) {
  const ResolvedMachine machine = round_machine();
  const ResolvedMachine link = with_more(machine, machine_resource("link"), 1.5);
  EXPECT_DOUBLE_EQ(link.profile.h2d.value / machine.profile.h2d.value, 1.5);
  EXPECT_DOUBLE_EQ(link.profile.d2h.value / machine.profile.d2h.value, 1.5);
  EXPECT_EQ(link.profile.cores.value, machine.profile.cores.value);
  EXPECT_EQ(link.hbm, machine.hbm);
  const ResolvedMachine hbm = with_more(machine, machine_resource("hbm"), 2);
  EXPECT_EQ(hbm.hbm, machine.hbm * 2);
  EXPECT_EQ(profile_hash(hbm.profile), profile_hash(machine.profile));
  EXPECT_ANY_THROW(static_cast<void>(machine_resource("lnk")));
}

}  // namespace
}  // namespace sluice::planner
