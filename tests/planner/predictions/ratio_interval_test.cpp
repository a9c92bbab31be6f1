// The interval of a ratio of two steps, in which what both rest on cancels.
#include "planner/predictions/ratio_interval.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "planner/explanation/machine_resources.hpp"
#include "planner/plans/random_plan.hpp"
#include "planner/predictions/predict.hpp"
#include "sim/error.hpp"
#include "tests/planner/round_machine.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

StepErrors step_of(double step, std::vector<StepError> causes, const char* machine = "m") {
  return {.step = Seconds(step), .machine = machine, .causes = std::move(causes)};
}

StepError copies(double deviation, const char* origin = "") {
  return {"copies down", "facts of copies down", origin, Seconds(deviation)};
}
StepError cpu(double deviation) { return {"CPU update", "facts of CPU", "", Seconds(deviation)}; }

TEST(RatioInterval, OfAStepOverItselfIsOneWithoutWidth) {
  const Job job = test::tiny_job();
  const Prediction p = predict(job, random_plan(job, 5), test::round_machine(), {});
  ASSERT_GT(p.errors.deviation().count(), 0);
  EXPECT_EQ(ratio_interval(p.errors, p.errors), RatioInterval{});
}

TEST(RatioInterval, TwoPlansThatRestOnOneCopyRateAreSurerThanApart) {
  // All of one step and half of the other are copies at a rate known to 10 %: of their ratio
  // 10 - 5 % are left, where independent errors would be sqrt(0.1^2 + 0.05^2).
  const StepErrors a = step_of(2, {copies(0.2)}), b = step_of(1, {copies(0.05)});
  const RatioInterval together = ratio_interval(a, b);
  EXPECT_NEAR(together.ratio, 2, 1e-12);
  EXPECT_NEAR(together.deviation, 0.05, 1e-12);
  EXPECT_NEAR(together.high, 2 * (1 + kInterval90 * 0.05), 1e-12);
  EXPECT_NEAR(together.low, 2 * (1 - kInterval90 * 0.05), 1e-12);
  const RatioInterval apart = ratio_interval(a, step_of(1, {copies(0.05)}, "another"));
  EXPECT_NEAR(apart.deviation, std::hypot(0.1, 0.05), 1e-12);
}

TEST(RatioInterval, AnErrorThatOneSideHasAloneStays) {
  const StepErrors a = step_of(1, {copies(0.1), cpu(0.08)}), b = step_of(1, {copies(0.1)});
  EXPECT_NEAR(ratio_interval(a, b).deviation, 0.08, 1e-12);
  EXPECT_NEAR(ratio_interval(b, a).deviation, 0.08, 1e-12);
}

TEST(RatioInterval, NumbersOfOneGroupMayErrTogetherOrApart) {
  // Two rates of one group: one side rests on one of them and the other side on the other: they
  // cancel only if they err together, which is not known.
  const StepError fast{"products", "facts of device", "", Seconds(0.1)};
  const StepError slow{"attention", "facts of device", "", Seconds(0.1)};
  EXPECT_NEAR(ratio_interval(step_of(1, {fast}), step_of(1, {slow})).deviation,
              std::hypot(0.1, 0.1), 1e-12);
  // Two rates of one side that the other does not rest on add linearly, as in its own interval.
  EXPECT_NEAR(ratio_interval(step_of(1, {fast, slow}), step_of(1, {})).deviation, 0.2, 1e-12);
}

TEST(RatioInterval, MachinesShareTheRulesOfTheirCommonParts) {
  const StepErrors a = step_of(1, {copies(0.1, "PCIe 5 | a GPU")}, "one");
  const StepErrors b = step_of(1, {copies(0.1, "PCIe 5 | a GPU")}, "two");
  EXPECT_NEAR(ratio_interval(a, b).deviation, 0, 1e-12);
  const StepErrors c = step_of(1, {copies(0.1, "PCIe 4 | a GPU")}, "three");
  EXPECT_NEAR(ratio_interval(a, c).deviation, std::hypot(0.1, 0.1), 1e-12);
}

TEST(RatioInterval, IsNarrowerThanThatOfIndependentErrorsForPlansOfOneMachine) {
  const Job job = test::tiny_job();
  const Predictor predictor(job, test::round_machine(), {});
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const StepErrors a = predictor.predict(random_plan(job, seed)).prediction.errors;
    const StepErrors b = predictor.predict(random_plan(job, seed + 100)).prediction.errors;
    const double apart = std::hypot(a.deviation() / a.step, b.deviation() / b.step);
    EXPECT_LE(ratio_interval(a, b).deviation, apart * (1 + 1e-12)) << seed;
  }
}

TEST(RatioInterval, MoreOfAResourceLeavesItsErrorShared) {
  const Job job = test::tiny_job();
  const Predictor predictor(job, test::round_machine(), {});
  const Plan plan = random_plan(job, 5);
  const Predictor more = predictor_with_more(predictor, {}, machine_resource("link"), 1.1);
  const StepErrors before = predictor.predict(plan).prediction.errors;
  const RatioInterval ratio = ratio_interval(more.predict(plan).prediction.errors, before);
  EXPECT_LE(ratio.ratio, 1);
  EXPECT_LT(ratio.deviation, 0.5 * (before.deviation() / before.step));
}

TEST(RatioInterval, ErrorsReadBackFromJson) {
  const StepErrors errors = step_of(2, {copies(0.2, "a rule"), cpu(0.1)});
  const std::string text = errors_json(errors).dump();
  const sim::JsonDocument document = sim::parse_json(text, "errors");
  const StepErrors again = read_errors(sim::JsonObject(document, "errors"));
  EXPECT_EQ(again.step, errors.step);
  EXPECT_EQ(again.machine, errors.machine);
  EXPECT_EQ(again.causes, errors.causes);
}

}  // namespace
}  // namespace sluice::planner
