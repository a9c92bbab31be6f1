#include "profiler/traces/recorder.hpp"

#include <gtest/gtest.h>

#include "planner/costs/cost_model.hpp"
#include "planner/layout/laid_out.hpp"
#include "planner/models/slices.hpp"
#include "profiler/traces/measured_run.hpp"
#include "profiler/traces/rank_spread.hpp"
#include "profiler/traces/run_spread.hpp"
#include "sim/simulate.hpp"
#include "tests/profiler/small_machine.hpp"

namespace sluice::profiler {
namespace {

planner::StepGraph small_graph() {
  const planner::Job job = test::small_job();
  return planner::build_step_graph(job, test::small_plan(job, 2, 2),
                                   planner::ProfileCostModel(test::small_machine(), {}));
}

/// Plays three simulated steps to the recorder, as steps first to first + 2 of a run.
void play(Recorder& recorder, const planner::StepGraph& graph, std::int64_t first,
          Duration begin = Duration(0)) {
  const sim::Timeline timeline = sim::simulate(graph.graph);
  for (std::size_t i = 0; i < timeline.spans.size(); ++i) {
    recorder.task_ran({static_cast<std::uint32_t>(i % graph.tasks_per_step),
                       first + static_cast<std::int64_t>(i / graph.tasks_per_step),
                       timeline.spans[i].start + begin, timeline.spans[i].end + begin});
  }
}

TEST(Recorder, ThreeStepsOfARunBecomeTheGraphsOwnIdsFromTimeZero) {
  const planner::StepGraph graph = small_graph();
  Recorder recorder(graph, {.first = 5, .count = 3});
  play(recorder, graph, 5, std::chrono::seconds(7));
  const auto spans = three_steps(recorder, 5);
  const sim::Trace trace = trace_of(graph, spans, sim::SpanSource::clock);
  const sim::Timeline timeline = sim::simulate(graph.graph);
  ASSERT_EQ(trace.spans.size(), graph.graph.tasks().size());
  for (std::size_t i = 0; i < trace.spans.size(); ++i) {
    EXPECT_EQ(trace.spans[i].id, graph.graph.tasks()[i].id);
    EXPECT_EQ(trace.spans[i].end, timeline.spans[i].end);
  }
}

TEST(RankSpread, ARankThatArrivesLaterIsLastByThatTime) {
  planner::Job job = test::small_job();
  job.batch_size = 4 * job.micro_batch;
  job.groups = 2;
  planner::MachineProfile machine = test::small_machine();
  planner::Fabric fabric;
  fabric.latency = machine.copy_latency;
  fabric.gather = fabric.exchange = {{1e6, machine.h2d}};
  machine.fabric = fabric;
  planner::Plan plan = planner::uniform_plan(planner::part_of_rank(job, 2), planner::UnitPlan{}, 1);
  plan.ranks = 2;
  const planner::StepGraph graph =
      planner::build_step_graph(job, plan, planner::ProfileCostModel(machine, {}));
  Recorder first(graph, {.first = 2, .count = 3}), second(graph, {.first = 2, .count = 3});
  play(first, graph, 2);
  play(second, graph, 2, std::chrono::microseconds(30));
  // The second rank's clock began 10 us after the first one's, so that it is 40 us late.
  const std::vector<RecordedRank> ranks{{&first, Duration(0)},
                                        {&second, std::chrono::microseconds(10)}};
  const RankSpread spread = rank_spread(graph, ranks, 2);
  ASSERT_EQ(spread.ranks.size(), 2U);
  EXPECT_EQ(spread.last, 1);
  EXPECT_EQ(spread.ranks[0].late, Duration(0));
  EXPECT_EQ(spread.ranks[1].late, std::chrono::microseconds(40));
  EXPECT_EQ(spread.ranks[0].compute, spread.ranks[1].compute);
  EXPECT_GT(spread.ranks[0].collectives, Duration(0));
  EXPECT_NE(spread_text(spread).find("rank 1 is last"), std::string::npos);
  EXPECT_EQ(rank_starts(ranks, 2),
            (std::vector<Duration>{Duration(0), std::chrono::microseconds(40)}));
}

TEST(Recorder, WhatARunStopsForIsLeftOut) {
  const planner::StepGraph graph = small_graph();
  Recorder straight(graph, {.first = 5, .count = 3});
  Recorder stopped(graph, {.first = 5, .count = 3}, {4, 6, 7});
  Recorder untold(graph, {.first = 5, .count = 3});
  // One step after another, as where a run stops after each; a second more after step 6.
  const sim::Timeline timeline = sim::simulate(graph.graph);
  const std::size_t n = graph.tasks_per_step;
  Instant begin = Instant::max();
  Instant end = Instant::min();
  for (std::size_t i = 0; i < n; ++i) {
    begin = std::min(begin, timeline.spans[i].start);
    end = std::max(end, timeline.spans[i].end);
  }
  const Duration each = end - begin;
  for (std::int64_t k = 0; k < 3; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      const auto at = [&](Duration later) {
        return engine::TaskEvent{static_cast<std::uint32_t>(i), 5 + k,
                                 timeline.spans[i].start + k * each + later,
                                 timeline.spans[i].end + k * each + later};
      };
      const Duration stop = k == 2 ? std::chrono::seconds(1) : Duration(0);
      straight.task_ran(at(Duration(0)));
      stopped.task_ran(at(stop));
      untold.task_ran(at(stop));
    }
  }
  const auto expected = three_steps(straight, 5);
  const auto spans = three_steps(stopped, 5);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    EXPECT_EQ(spans[i].start, expected[i].start) << i;
    EXPECT_EQ(spans[i].end, expected[i].end) << i;
  }
  EXPECT_EQ(three_steps(untold, 5).back().end, expected.back().end + std::chrono::seconds(1));
}

TEST(Recorder, ADevicesTraceSaysWhichTasksTheCpusClockTimed) {
  const planner::StepGraph graph = small_graph();
  const sim::Trace trace =
      trace_of(graph, sim::simulate(graph.graph).spans, sim::SpanSource::event);
  std::size_t by_clock = 0;
  for (std::size_t i = 0; i < trace.spans.size(); ++i) {
    const planner::StepTask& task = graph.tasks[i];
    const bool by_cpu = task.lane == planner::LaneKind::cpu ||
                        task.lane == planner::LaneKind::launch ||
                        task.kind == planner::TaskKind::grads;
    EXPECT_EQ(trace.spans[i].source, by_cpu ? sim::SpanSource::clock : sim::SpanSource::event)
        << trace.spans[i].id;
    if (by_cpu) ++by_clock;
  }
  EXPECT_GT(by_clock, 3u);
  EXPECT_LT(by_clock, trace.spans.size());
}

TEST(Recorder, IgnoresOtherStepsAndKnowsWhatIsMissing) {
  const planner::StepGraph graph = small_graph();
  Recorder recorder(graph, {.first = 3, .count = 1});
  EXPECT_FALSE(recorder.has(3));
  play(recorder, graph, 1);
  EXPECT_TRUE(recorder.has(3));
  EXPECT_FALSE(recorder.has(2));
  EXPECT_FALSE(recorder.has(4));
  recorder.restart({.first = 9, .count = 1});
  EXPECT_FALSE(recorder.has(9));
  EXPECT_THROW((void)recorder.spans(9), std::logic_error);
}

TEST(StepTemplate, SimulatedOccupancyIsTheTasksOwnDuration) {
  // A simulated task starts the instant nothing holds it back, so that only pools (which the edges
  // repeat) could make the two differ.
  const planner::StepGraph graph = small_graph();
  Recorder recorder(graph, {.first = 1, .count = 3});
  play(recorder, graph, 1);
  const MeasuredRun run = measured_run(test::small_plan(test::small_job(), 2, 2), recorder);
  ASSERT_EQ(run.steps.size(), 3u);
  const auto occupancy = StepTemplate(graph).occupancy(run.steps[1], run.steps[2]);
  for (std::size_t i = 0; i < occupancy.size(); ++i) {
    EXPECT_NEAR(occupancy[i].count(),
                to_seconds(run.steps[2][i].end - run.steps[2][i].start).count(), 1e-8)
        << graph.graph.tasks()[i].id;
  }
}

TEST(StepTemplate, StepTimesAreThePeriodOfTheGraph) {
  const planner::StepGraph graph = small_graph();
  Recorder recorder(graph, {.first = 1, .count = 3});
  play(recorder, graph, 1);
  const auto times = step_times(graph, measured_run({}, recorder));
  const sim::Timeline timeline = sim::simulate(graph.graph);
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[1], to_seconds(timeline.period(*graph.graph.period())));
}

TEST(Median, OfNothingOneEvenAndOdd) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median({9, 1, 5}), 5);
  EXPECT_EQ(robust_deviation({1}), 0);
  EXPECT_NEAR(robust_deviation({1, 2, 3, 4, 100}), 1.4826, 1e-9);
}

TEST(RunSpread, MeansAndTheRankThatComputesLongestAreOfAllSteps) {
  RunSpread spread(2);
  const Seconds steps[][2] = {
      {Seconds(1), Seconds(2)}, {Seconds(3), Seconds(1)}, {Seconds(2), Seconds(6)}};
  for (const auto& step : steps) spread.add(step);
  const std::vector<RankOfRun> ranks = spread.ranks();
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_EQ(ranks[0].compute, Seconds(2));
  EXPECT_EQ(ranks[1].compute, Seconds(3));
  EXPECT_EQ(ranks[1].most, Seconds(6));
  EXPECT_EQ(ranks[0].longest_in, 1);
  EXPECT_EQ(ranks[1].longest_in, 2);
  EXPECT_EQ(run_spread_text(ranks),
            "compute 2.00 s to 3.00 s a step over all 3 steps; rank 1 longest in 2 of them");
  EXPECT_THROW(spread.add(std::vector{Seconds(1)}), std::logic_error);
}

}  // namespace
}  // namespace sluice::profiler
