#include "profiler/report/tune_report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sim/simulate.hpp"
#include "tests/profiler/small_machine.hpp"

namespace sluice::profiler {
namespace {

planner::Predictor small_predictor() {
  planner::ResolvedMachine machine;
  machine.profile = test::small_machine();
  machine.hbm = Bytes(256'000'000);
  machine.host = machine.disk = Bytes(8'000'000'000);
  return {test::small_job(), machine, {}};
}

/// Four steps that took twice as long as `step` predicts.
MeasuredRun run_of(const planner::PredictedStep& step) {
  MeasuredRun run{.plan = step.prediction.plan, .steps = {}};
  const auto spans = sim::simulate(step.graph.graph).spans;
  const std::size_t tasks = step.graph.tasks_per_step;
  for (int number = 0; number < 4; ++number) {
    auto& tasks_of_step = run.steps.emplace_back();
    for (std::size_t task = 0; task < tasks; ++task) {
      const auto& span = spans[tasks + task];
      const Duration later = number * 2 * step.prediction.step;
      const auto twice = [&](Instant at) { return Instant(2 * at.time_since_epoch() + later); };
      tasks_of_step.push_back({twice(span.start), twice(span.end)});
    }
  }
  return run;
}

/// What a page holds after one iteration: `kept` is the plan to train with, `ran` the one that ran.
sim::Json page_of(const planner::PredictedStep& kept, const planner::PredictedStep& ran) {
  TuneOutcome outcome;
  outcome.step = kept;
  TuneIteration& iteration = outcome.iterations.emplace_back();
  iteration.plan = ran.prediction.plan;
  iteration.predicted = to_seconds(ran.prediction.step);
  iteration.measured = 2 * iteration.predicted;
  outcome.runs.push_back(run_of(ran));
  TuneReport report{.title = "tuning", .subtitle = "", .tokens = 128, .outcome = outcome};
  if (shown_run(outcome, kept.prediction.plan) == nullptr) report.last_ran = ran;
  const std::string page = tune_report(report);
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const auto first = page.find(begin) + begin.size();
  return sim::Json::parse(page.substr(first, page.find("</script>", first) - first));
}

TEST(TuneReport, APlanThatRanIsMeasuredOnItsLanes) {
  const planner::Predictor predictor = small_predictor();
  const auto step = predictor.predict(test::small_plan(predictor.job(), 2, 2));
  const sim::Json page = page_of(step, step);
  ASSERT_EQ(page["timeline"]["rows"].size(), 2U);
  EXPECT_EQ(page["timeline"]["rows"][1]["name"], "measured");
  EXPECT_NEAR(page["headline"]["measured_s"].get<double>(),
              2 * to_seconds(step.prediction.step).count(), 1e-6);
}

// The prediction did not hold: the plan that is kept is not the one that ran.
TEST(TuneReport, WhereTheKeptPlanNeverRanTheLastThatDidIsMeasured) {
  const planner::Predictor predictor = small_predictor();
  const auto kept = predictor.predict(test::small_plan(predictor.job(), 1, 2));
  const auto ran = predictor.predict(test::small_plan(predictor.job(), 2, 2));
  const sim::Json page = page_of(kept, ran);
  ASSERT_EQ(page["timeline"]["rows"].size(), 2U);
  const sim::Json& rows = page["timeline"]["rows"];
  EXPECT_EQ(rows[1]["name"], "measured");
  EXPECT_EQ(rows[0]["tasks"], rows[1]["tasks"]) << "both rows are of the plan that ran";
  EXPECT_FALSE(page["kinds"].empty());
  EXPECT_EQ(page["headline"]["measured_s"], 0) << "of the kept plan nothing is known";
  EXPECT_NE(page.dump().find("the plan that was kept has not run"), std::string::npos);
}

}  // namespace
}  // namespace sluice::profiler
