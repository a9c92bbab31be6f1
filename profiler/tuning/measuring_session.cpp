#include "profiler/tuning/measuring_session.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "engine/backends/backend.hpp"
#include "profiler/cupti/device_times.hpp"
#include "sim/error.hpp"

namespace sluice::profiler {
namespace {

constexpr std::uint64_t kSeed = 1;

/// Steps before a traced burst, in which code loads, and clocks and caches settle.
constexpr std::int64_t kWarmUp = 3;

/// Largest number of pairs of bursts after the first, while they leave open what tracing costs.
constexpr int kMorePairs = 2;

void append(std::vector<Seconds>& all, const std::vector<Seconds>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

/// Devices of the plan's ranks, of which the first one is observed.
engine::SessionRanks ranks_of(const planner::Predictor& predictor,
                              const planner::PredictedStep& step, engine::Observer* observer) {
  engine::SessionRanks ranks;
  ranks.devices = engine::make_devices(predictor.job(), predictor.machine(), step.graph.layout,
                                       step.prediction.plan.threads, step.graph.ranks);
  ranks.observers = {observer};
  return ranks;
}

}  // namespace

MeasuringSession::MeasuringSession(const planner::Predictor& predictor,
                                   const planner::PredictedStep& step, std::int64_t most_steps,
                                   cupti::Collector* collector)
    : graph_(step.graph),
      plan_(step.prediction.plan),
      on_cuda_(predictor.machine().profile.device == planner::DeviceKind::cuda),
      staged_(predictor.machine().staged),
      tokens_(predictor.job().model.vocab, kSeed),
      recorder_(step.graph, {.first = 1, .count = most_steps}),
      collector_(collector),
      session_(
          predictor.job(), step.graph, ranks_of(predictor, step, observer()), tokens_,
          [lr = predictor.job().optimizer.lr](std::int64_t) { return lr; },
          engine::InitialWeights(kSeed, /*repeated=*/true),
          engine::disk_place(predictor.machine(), ".")) {}

engine::Observer* MeasuringSession::observer() {
  if (collector_ == nullptr) return &recorder_;
  return &tagging_.emplace(recorder_, *collector_);
}

void MeasuringSession::run_steps(std::int64_t steps) {
  recorder_.restart({.first = session_.steps_done() + 1, .count = steps});
  session_.run_to(session_.steps_done() + steps);
}

MeasuredRun MeasuringSession::run(std::int64_t steps) {
  check(steps >= 3, "a burst has a step with neighbours");
  run_steps(steps);
  MeasuredRun run = measured_run(plan_, recorder_);
  if (on_cuda_) run.device_times = sim::SpanSource::event;
  return run;
}

std::variant<MeasuredRun, cupti::Absence> MeasuringSession::run_traced(std::int64_t steps) {
  check(collector_ != nullptr && on_cuda_, "a traced burst has a collector and a GPU");
  if (auto absence = collector_->restart()) return std::move(*absence);
  MeasuredRun traced = run(steps);
  const cupti::RecordSet records = collector_->take();
  if (records.activities.empty() && records.dropped == 0) return cupti::nothing_seen();
  const cupti::Attribution attribution = cupti::attribute(records);
  // The CPU's threads make copies through the pinned ring: CUPTI sees only part of such a task.
  using planner::LaneKind;
  constexpr std::array kAll{LaneKind::compute, LaneKind::h2d, LaneKind::d2h};
  cupti::use_device_times(traced, graph_,
                          {.first_step = recorder_.steps().first,
                           .on_run_clock = [this](auto point) { return session_.instant(point); },
                           .lanes = std::span(kAll).first(staged_ ? 1 : kAll.size())},
                          attribution);
  return traced;
}

Measurement MeasuringSession::measure(std::int64_t steps) {
  Measurement result;
  if (collector_ == nullptr || !on_cuda_) {
    result.untraced = run(steps);
    return result;
  }
  // The traced burst comes first: code that loads on first use loads under the collector.
  auto absence = collector_->restart();
  run_steps(std::min(kWarmUp, steps));
  if (!absence) {
    auto traced = run_traced(steps);
    if (auto* run = std::get_if<MeasuredRun>(&traced)) {
      result.traced = std::move(*run);
    } else {
      absence = std::get<cupti::Absence>(std::move(traced));
    }
  }
  result.untraced = run(steps);
  if (absence) {
    result.refusal = absence->line;
    return result;
  }
  auto untraced_steps = step_times(graph_, result.untraced);
  auto traced_steps = step_times(graph_, *result.traced);
  result.overhead = cupti::trace_overhead(untraced_steps, traced_steps);
  for (int pair = 0; pair < kMorePairs && cupti::is_undecided(*result.overhead); ++pair) {
    auto traced = run_traced(steps);
    auto* again = std::get_if<MeasuredRun>(&traced);
    if (again == nullptr) break;
    result.traced = std::move(*again);
    result.untraced = run(steps);
    append(untraced_steps, step_times(graph_, result.untraced));
    append(traced_steps, step_times(graph_, *result.traced));
    result.overhead = cupti::trace_overhead(untraced_steps, traced_steps);
  }
  if (const auto why = cupti::why_unfit(*result.overhead)) {
    result.refusal =
        "calibration from CUPTI refused: " + *why + "; CUDA events time the tasks instead";
    result.traced.reset();
  }
  return result;
}

}  // namespace sluice::profiler
