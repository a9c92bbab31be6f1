#include <gtest/gtest.h>

#include <array>

#include "planner/costs/cost_model.hpp"
#include "planner/layout/laid_out.hpp"
#include "profiler/cupti/device_times.hpp"
#include "profiler/fits/calibration_fit.hpp"
#include "profiler/traces/key_times.hpp"
#include "sim/error.hpp"
#include "sim/simulate.hpp"
#include "tests/profiler/cupti/cupti_records.hpp"
#include "tests/profiler/small_machine.hpp"

namespace sluice::profiler::cupti::test {
namespace {

using planner::LaneKind;

constexpr std::array kLanes{LaneKind::compute, LaneKind::h2d, LaneKind::d2h};

/// A simulated run whose events are stamped 2 us before the first kernel and 1 us after the last.
struct Traced {
  planner::Job job = profiler::test::small_job();
  planner::MachineProfile machine = profiler::test::small_machine();
  planner::Plan plan = profiler::test::small_plan(job, 2, 2);
  planner::StepGraph graph =
      planner::build_step_graph(job, plan, planner::ProfileCostModel(machine, {}));
  sim::Timeline timeline = sim::simulate(graph.graph);
  MeasuredRun run;
  RecordSet records = on_one_clock();
  RunPlace place{.first_step = 5,
                 .on_run_clock = [](auto point) { return Instant(point - host(0)); },
                 .lanes = kLanes};

  [[nodiscard]] bool on_device(std::size_t task) const {
    return is_device_lane(graph.tasks[task].lane) &&
           graph.tasks[task].kind != planner::TaskKind::grads;
  }

  Traced() {
    run.plan = plan;
    run.device_times = sim::SpanSource::event;
    CorrelationId next = 1;
    for (std::size_t i = 0; i < timeline.spans.size(); ++i) {
      const auto [start, end] = timeline.spans[i];
      const std::size_t step = i / graph.tasks_per_step;
      const auto task = static_cast<std::uint32_t>(i % graph.tasks_per_step);
      if (task == 0) run.steps.emplace_back();
      if (!on_device(task)) {
        run.steps.back().push_back({start, end});
        continue;
      }
      run.steps.back().push_back({start - us(2), end + us(1)});
      Activity activity = kernel(next, 0, 0);
      activity.start = at(0) + start.time_since_epoch();
      activity.end = at(0) + end.time_since_epoch();
      records.activities.push_back(activity);
      records.tags.push_back(tag(next++, {static_cast<std::int64_t>(step) + 5, task}));
    }
  }
};

TEST(DeviceTimes, ReplaceTheEventsOfDeviceTasksAndOnlyThose) {
  Traced traced;
  use_device_times(traced.run, traced.graph, traced.place, attribute(traced.records));
  EXPECT_EQ(traced.run.device_times, sim::SpanSource::cupti);
  for (std::size_t i = 0; i < traced.timeline.spans.size(); ++i) {
    const auto& span =
        traced.run.steps[i / traced.graph.tasks_per_step][i % traced.graph.tasks_per_step];
    EXPECT_EQ(span.start, traced.timeline.spans[i].start) << i;
    EXPECT_EQ(span.end, traced.timeline.spans[i].end) << i;
  }
}

TEST(DeviceTimes, LanesThatThreadsRunKeepTheirTimes) {
  Traced traced;
  const MeasuredRun before = traced.run;
  traced.place.lanes = std::span(kLanes).first(1);
  use_device_times(traced.run, traced.graph, traced.place, attribute(traced.records));
  for (std::size_t task = 0; task < traced.graph.tasks_per_step; ++task) {
    const LaneKind lane = traced.graph.tasks[task].lane;
    if (lane != LaneKind::h2d && lane != LaneKind::d2h) continue;
    EXPECT_EQ(traced.run.steps[1][task].start, before.steps[1][task].start);
  }
}

TEST(DeviceTimes, LostRecordsAreRefusedAndTheRunStaysAsItWas) {
  Traced traced;
  traced.records.dropped = 4;
  const MeasuredRun before = traced.run;
  try {
    use_device_times(traced.run, traced.graph, traced.place, attribute(traced.records));
    FAIL() << "accepted";
  } catch (const EnvironmentError& error) {
    EXPECT_TRUE(contains(error.what(), "calibration refused: CUPTI dropped 4 records"));
  }
  EXPECT_EQ(traced.run.device_times, sim::SpanSource::event);
  EXPECT_EQ(traced.run.steps[0][0].start, before.steps[0][0].start);
}

TEST(DeviceTimes, TasksThatCuptiSawNothingOfAreRefusedByName) {
  Traced traced;
  // All forward passes of unit 1: no record, and nobody said that any were dropped.
  std::erase_if(traced.records.activities, [&](const Activity& activity) {
    const auto key = task_of(traced.records.tags[activity.correlation - 1].id);
    const planner::StepTask& task = traced.graph.tasks[key->task];
    return task.kind == planner::TaskKind::forward && task.unit == 1;
  });
  try {
    use_device_times(traced.run, traced.graph, traced.place, attribute(traced.records));
    FAIL() << "accepted";
  } catch (const EnvironmentError& error) {
    EXPECT_TRUE(contains(error.what(), "CUPTI saw nothing of"));
    EXPECT_TRUE(contains(error.what(), "fwd"));
  }
}

TEST(DeviceTimes, CostsSayHowTheyWereTimedAndEventsAreLessCertain) {
  Traced traced;
  const auto fitted = [&](const MeasuredRun& run) {
    return fit_calibration(traced.job, traced.machine, {}, std::span(&run, 1)).calibration;
  };
  const auto by_event = fitted(traced.run);
  use_device_times(traced.run, traced.graph, traced.place, attribute(traced.records));
  const auto by_cupti = fitted(traced.run);
  std::size_t compared = 0;
  for (std::size_t task = 0; task < traced.graph.tasks_per_step; ++task) {
    const planner::CostKey& key = traced.graph.tasks[task].cost;
    const auto cupti = by_cupti.find(key);
    if (cupti == by_cupti.end()) continue;
    if (!traced.on_device(task)) {
      EXPECT_EQ(cupti->second.timing, sim::SpanSource::clock) << key.name();
      continue;
    }
    EXPECT_EQ(cupti->second.timing, sim::SpanSource::cupti) << key.name();
    EXPECT_EQ(by_event.at(key).timing, sim::SpanSource::event) << key.name();
    EXPECT_GT(by_event.at(key).deviation, cupti->second.deviation) << key.name();
    ++compared;
  }
  EXPECT_GT(compared, 4u);
}

TEST(TimeSource, OfTheMeetingAndOfCpuTasksIsTheClock) {
  MeasuredRun run;
  run.device_times = sim::SpanSource::cupti;
  planner::StepTask task{};
  task.lane = LaneKind::compute;
  task.kind = planner::TaskKind::forward;
  EXPECT_EQ(time_source(run, task), sim::SpanSource::cupti);
  task.kind = planner::TaskKind::grads;
  EXPECT_EQ(time_source(run, task), sim::SpanSource::clock);
  task.kind = planner::TaskKind::update;
  task.lane = LaneKind::cpu;
  EXPECT_EQ(time_source(run, task), sim::SpanSource::clock);
}

}  // namespace
}  // namespace sluice::profiler::cupti::test
