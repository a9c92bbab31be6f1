#include "profiler/report/report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "profiler/traces/recorder.hpp"
#include "sim/simulate.hpp"
#include "tests/profiler/small_machine.hpp"
#include "tests/profiler/synthetic_step.hpp"

namespace sluice::profiler {
namespace {

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const auto first = text.find(begin) + begin.size();
  return text.substr(first, text.find(end, first) - first);
}

sim::Json data_of(const std::string& page) {
  return sim::Json::parse(
      between(page, "<script type=\"application/json\" id=\"data\">", "</script>"));
}

ReportData small_report() {
  ReportData report;
  report.title = "run </script><script>alert(1)</script> {{script}}";
  report.headline = {.predicted = Seconds(0.5), .measured = Seconds(0.51)};
  const auto at = [](int ms) { return Instant(std::chrono::milliseconds(ms)); };
  report.step.predicted.trace.spans = {
      {"s2/grads", "compute", "grads", at(100), at(100), Bytes(0)},
      {"s3/fwd", "compute", "forward", at(100), at(200), Bytes(0)},
      {"s3/grads", "compute", "grads", at(300), at(300), Bytes(0)}};
  report.step.predicted.critical = {"s3/fwd"};
  report.train_loss = {{1, 5.5}, {2, 5.0}};
  report.provenance = {{"cpu", "A & B \"quoted\""}, {"bytes", std::string("\xff\xfe", 2)}};
  return report;
}

TEST(Report, TextCannotEndTheScriptItLiesIn) {
  const std::string page = report_html(small_report());
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(data_of(page)["title"], small_report().title);
}

TEST(Report, RefersToNothingOutsideItself) {
  const std::string page = report_html(small_report());
  for (const char* reference : {"src=", "url(", "@import", "fetch(", "https://", "XMLHttp"}) {
    EXPECT_EQ(page.find(reference), std::string::npos) << reference;
  }
}

TEST(Report, EmptyRunStillMakesAPage) {
  const std::string page = report_html({});
  EXPECT_NE(page.find("</html>"), std::string::npos);
  EXPECT_TRUE(data_of(page)["memory"].empty());
}

TEST(Timeline, AlignsSpansAtTheEndOfTheSecondStepsGradients) {
  const sim::Json line = data_of(report_html(small_report()))["timeline"];
  const sim::Json row = line["rows"][0];
  EXPECT_EQ(row["tasks"], 1) << "tasks without a duration are not drawn";
  EXPECT_EQ(row["start_ns"][0], 0);
  EXPECT_EQ(row["end_ns"][0], 100'000'000);
  EXPECT_EQ(line["ids"][row["id"][0].get<std::size_t>()], "s3/fwd");
  EXPECT_EQ(row["critical"][0], 1);
  EXPECT_DOUBLE_EQ(row["period_s"], 0.2);
}

TEST(Timeline, FewTasksAreShownOneByOne) {
  ReportData report;
  report.step.predicted.trace = test::synthetic_trace(5000, 1);
  EXPECT_FALSE(is_summed_up(report.step));
  const sim::Json row = data_of(report_html(report))["timeline"]["rows"][0];
  EXPECT_EQ(row["tasks"], row["id"].size());
  EXPECT_GE(row["tasks"], 5000);
}

TEST(Timeline, ManyTasksAreSummedUpWithoutLosingTimeOrBytes) {
  ReportData report;
  report.step.predicted.trace = test::synthetic_trace(100'000, 1);
  ASSERT_TRUE(is_summed_up(report.step));
  const sim::Json line = data_of(report_html(report))["timeline"];
  const sim::Json row = line["rows"][0];
  EXPECT_LT(row["id"].size(), 20000u);
  std::int64_t tasks = 0;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < row["id"].size(); ++i) {
    tasks += row["count"][i].get<std::int64_t>();
    bytes += row["bytes"][i].get<std::int64_t>();
    EXPECT_LE(row["busy_ns"][i],
              row["end_ns"][i].get<std::int64_t>() - row["start_ns"][i].get<std::int64_t>());
  }
  EXPECT_EQ(tasks, row["tasks"]);
  EXPECT_GE(tasks, 100'000);
  Instant begin{}, end{};
  for (const sim::TraceSpan& span : report.step.predicted.trace.spans) {
    if (span.id == "s2/grads") begin = span.end;
    if (span.id == "s3/grads") end = span.end;
  }
  std::int64_t expected = 0;
  for (const sim::TraceSpan& span : report.step.predicted.trace.spans) {
    if (span.end > begin - (end - begin) / 3 && span.start < end + (end - begin) / 6) {
      expected += span.bytes.count();
    }
  }
  EXPECT_EQ(bytes, expected);
}

planner::PredictedStep small_step() {
  const planner::Job job = test::small_job();
  planner::ResolvedMachine machine;
  machine.profile = test::small_machine();
  machine.hbm = Bytes(256'000'000);
  machine.host = machine.disk = Bytes(8'000'000'000);
  return planner::Predictor(job, machine, {}).predict(test::small_plan(job, 2, 2));
}

std::int64_t largest_sum(const MemoryUse& use) {
  std::int64_t largest = 0;
  for (std::size_t i = 0; i < use.at.size(); ++i) {
    std::int64_t sum = 0;
    for (const auto& part : use.bytes) sum += part[i];
    largest = std::max(largest, sum);
  }
  return largest;
}

TEST(MemoryUse, FillsTheArenaAndNeverOverfillsIt) {
  const planner::PredictedStep step = small_step();
  const auto spans = sim::simulate(step.graph.graph).spans;
  for (const planner::Arena arena : {planner::Arena::device, planner::Arena::host}) {
    const Bytes size = arena == planner::Arena::device ? step.graph.layout.device_bytes
                                                       : step.graph.layout.host_bytes;
    const MemoryUse use = memory_use(step.graph, spans, arena);
    EXPECT_LE(largest_sum(use), size.count());
    EXPECT_GT(static_cast<double>(largest_sum(use)), 0.7 * static_cast<double>(size.count()));
    EXPECT_EQ(use.at.front(), Duration(0));
    EXPECT_TRUE(std::is_sorted(use.at.begin(), use.at.end()));
  }
}

TEST(MemoryUse, ThinnedKeepsTheFullestInstant) {
  const planner::PredictedStep step = small_step();
  const MemoryUse use =
      memory_use(step.graph, sim::simulate(step.graph.graph).spans, planner::Arena::device);
  ASSERT_GT(use.at.size(), 20u);
  const MemoryUse thin = thinned(use, 10);
  EXPECT_LE(thin.at.size(), 10u);
  EXPECT_EQ(largest_sum(thin), largest_sum(use));
}

TEST(StepView, AStepThatTakesWhatWasPredictedHasTheSameWaterfall) {
  const planner::PredictedStep step = small_step();
  const sim::Trace trace =
      trace_of(step.graph, sim::simulate(step.graph.graph).spans, sim::SpanSource::simulated);
  ReportData report;
  report.step = view_of(step, trace, trace);
  const sim::Json page = data_of(report_html(report));
  ASSERT_EQ(page["waterfall"].size(), 2u);
  EXPECT_EQ(page["waterfall"][0]["terms"], page["waterfall"][1]["terms"]);
  double sum = page["waterfall"][0]["bound_s"];
  for (const auto& term : page["waterfall"][0]["terms"]) sum += term["seconds"].get<double>();
  EXPECT_NEAR(sum, to_seconds(step.prediction.step).count(), 1e-8);
  for (const auto& row : page["kinds"]) EXPECT_EQ(row["predicted_s"], row["measured_s"]);
  // No task is shorter than it is alone.
  for (const sim::TraceSpan& span : trace.spans) {
    EXPECT_GE(to_seconds(span.end - span.start).count(),
              report.step.limits.at(span.id).alone.count() * 0.999 - 1e-9)
        << span.id;
  }
}

TEST(Elasticity, AStepOfComputeAloneIsShorterInProportion) {
  const planner::Job job = test::small_job();
  planner::ResolvedMachine machine;
  machine.profile = test::small_machine();
  for (planner::Bandwidth* rate : {&machine.profile.h2d, &machine.profile.d2h,
                                   &machine.profile.h2d_duplex, &machine.profile.d2h_duplex}) {
    rate->value = BytesPerSecond(1e12);
  }
  machine.hbm = Bytes(256'000'000);
  machine.host = machine.disk = Bytes(8'000'000'000);
  const planner::Predictor predictor(job, machine, {});
  double sum = 0;
  for (const auto& one : planner::elasticities(predictor, {}, test::small_plan(job, 2, 2))) {
    EXPECT_LE(one.value, 1e-6) << one.resource << ": more never slows";
    if (one.resource == "link") {
      EXPECT_NEAR(one.value, 0, 0.05);
    }
    sum += one.value;
  }
  EXPECT_LT(sum, -0.5);
  EXPECT_GE(sum, -1.05);
}

}  // namespace
}  // namespace sluice::profiler
