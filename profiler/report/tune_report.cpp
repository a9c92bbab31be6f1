#include "profiler/report/tune_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "planner/plans/plan_words.hpp"
#include "profiler/report/page.hpp"
#include "sim/error.hpp"
#include "sim/simulate.hpp"

namespace sluice::profiler {
namespace {

using sim::Json;

Json iterations_json(const std::vector<TuneIteration>& iterations) {
  Json list = Json::array();
  for (const TuneIteration& iteration : iterations) {
    list.push_back({{"round", iteration.number},
                    {"predicted_s", iteration.predicted.count()},
                    {"measured_s", iteration.measured.count()},
                    {"error", iteration.error()},
                    {"miss", iteration.largest_miss.key.name()},
                    {"miss_s", iteration.largest_miss.miss().count()},
                    {"plan", planner::describe_plan(iteration.plan)}});
  }
  return list;
}

Json verification_json(const Verification& verification) {
  Json plans = Json::array();
  for (const VerifiedPlan* plan : {&verification.best_depth, &verification.one_buffer}) {
    plans.push_back({{"name", plan->name},
                     {"predicted_s", plan->predicted.count()},
                     {"low_s", plan->low.count()},
                     {"high_s", plan->high.count()},
                     {"measured_s", plan->measured.count()},
                     {"steps", plan->steps},
                     {"error", plan->error()}});
  }
  return {{"plans", std::move(plans)},
          {"predicted_ratio", verification.predicted_ratio()},
          {"measured_ratio", verification.measured_ratio()},
          {"ratio_error", verification.ratio_error()}};
}

Json sweeps_json(const std::vector<SweepCurve>& sweeps) {
  Json list = Json::array();
  for (const SweepCurve& curve : sweeps) {
    Json points = Json::array();
    for (const SweepPoint& point : curve.points) {
      points.push_back({{"value", point.value},
                        {"predicted_s", point.predicted.count()},
                        {"measured_s", point.measured ? Json(point.measured->count()) : Json()}});
    }
    list.push_back({{"field", curve.field},
                    {"why", curve.why},
                    {"knee", curve.knee ? Json(curve.points[*curve.knee].value) : Json()},
                    {"points", std::move(points)}});
  }
  return list;
}

/// Index of the first of the middle three steps of a run.
std::size_t middle_of(const MeasuredRun& run) { return (run.steps.size() - 3) / 2; }

const char* clock_of(const MeasuredRun& run) {
  switch (run.device_times) {
    case sim::SpanSource::cupti:
      return "CUPTI";
    case sim::SpanSource::event:
      return "CUDA events";
    case sim::SpanSource::clock:
    case sim::SpanSource::simulated:
      break;
  }
  return "the CPU's clock";
}

/// View of the kept plan's step, or of the last plan that ran.
StepView step_view(const TuneReport& report) {
  const planner::PredictedStep& shown = report.last_ran ? *report.last_ran : report.outcome.step;
  const MeasuredRun* ran = shown_run(report.outcome, shown.prediction.plan);
  std::optional<sim::Trace> measured;
  if (ran != nullptr) measured = middle_steps(shown.graph, *ran);
  StepView view = view_of(
      shown,
      trace_of(shown.graph, sim::simulate(shown.graph.graph).spans, sim::SpanSource::simulated),
      std::move(measured));
  view.elasticities = report.elasticities;
  if (ran == nullptr) return view;
  const std::size_t first = middle_of(*ran) + 1;
  view.observed = fmt::format(
      "steps {} to {} of {} last run, timed by {}; predicted: with the costs that tuning found",
      first, first + 2, report.last_ran ? "another plan's" : "this plan's", clock_of(*ran));
  if (report.last_ran) view.observed += "; the plan that was kept has not run";
  return view;
}

}  // namespace

const MeasuredRun* shown_run(const TuneOutcome& outcome, const planner::Plan& plan) {
  const auto ran = std::ranges::find_if(outcome.runs, [&](const MeasuredRun& run) {
    return run.plan == plan && run.steps.size() >= 3;
  });
  return ran == outcome.runs.end() ? nullptr : &*ran;
}

sim::Trace middle_steps(const planner::StepGraph& graph, const MeasuredRun& run) {
  check(run.steps.size() >= 3, "a trace has three steps");
  std::vector<Recorder::Span> spans;
  spans.reserve(graph.tasks.size());
  for (std::size_t step = middle_of(run); step < middle_of(run) + 3; ++step) {
    spans.insert(spans.end(), run.steps[step].begin(), run.steps[step].end());
  }
  Instant origin = Instant::max();
  for (const Recorder::Span& span : spans) origin = std::min(origin, span.start);
  for (Recorder::Span& span : spans) {
    span = {Instant(span.start - origin), Instant(span.end - origin)};
  }
  return trace_of(graph, spans, run.device_times);
}

std::string tune_report(const TuneReport& report) {
  const planner::PredictedStep& step = report.outcome.step;
  const planner::Prediction& prediction = step.prediction;
  Headline headline{.predicted = to_seconds(prediction.step),
                    .low = prediction.step_low,
                    .high = prediction.step_high,
                    .bound = prediction.bound.time,
                    .bound_by = to_string(prediction.bound.by)};
  if (const MeasuredRun* ran = shown_run(report.outcome, prediction.plan)) {
    headline.measured = median_step(step.graph, std::span(ran, 1));
    headline.steps = std::ssize(ran->steps) - 1;
    headline.tokens_per_s = static_cast<double>(report.tokens) / headline.measured.count();
  }
  Json page = {{"kind", "autotune"},
               {"title", report.title},
               {"subtitle", report.subtitle},
               {"headline", to_json(headline)},
               {"rounds", iterations_json(report.outcome.iterations)}};
  if (report.verification) page["verification"] = verification_json(*report.verification);
  page["sweeps"] = sweeps_json(report.sweeps);
  add_step(page, step_view(report));
  page["provenance"] = to_json(report.provenance);
  return page_html(page);
}

}  // namespace sluice::profiler
