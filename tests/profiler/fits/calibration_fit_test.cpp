#include "profiler/fits/calibration_fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "planner/costs/cost_model.hpp"
#include "planner/costs/lane_interference.hpp"
#include "planner/layout/laid_out.hpp"
#include "sim/simulate.hpp"
#include "tests/profiler/small_machine.hpp"

namespace sluice::profiler {
namespace {

using planner::Calibration;
using planner::CostKey;
using planner::MachineProfile;

/// Costs of a machine that differ from its profile, by factors of 0.6 to 1.5 from key to key, and
/// with other interference.
Calibration hidden_costs(const planner::Job& job, const MachineProfile& machine,
                         const std::vector<planner::Plan>& plans) {
  Calibration hidden;
  const planner::ProfileCostModel model(machine, {});
  int turn = 0;
  for (const planner::Plan& plan : plans) {
    const planner::StepGraph graph = planner::build_step_graph(job, plan, model);
    for (std::size_t i = 0; i < graph.tasks_per_step; ++i) {
      const planner::CostKey& key = graph.tasks[i].cost;
      const sim::Task& task = graph.graph.tasks()[i];
      const auto* flow = std::get_if<sim::Flow>(&task.work);
      if (flow == nullptr || hidden.contains(key) || is_copy(key.kind())) continue;
      planner::CalibrationSample sample;
      sample.key = key;
      sample.value =
          (task.latency + flow->amount / *flow->cap).count() * (0.6 + 0.18 * (turn++ % 6));
      hidden[key] = sample;
    }
  }
  planner::CalibrationSample slowdown;
  slowdown.key = planner::interference_key(planner::LaneKind::compute, planner::LaneKind::cpu);
  slowdown.value = 0.75;
  hidden[slowdown.key] = slowdown;
  return hidden;
}

/// Steps as the hidden machine runs them: the middle step of the simulation, with neighbours.
MeasuredRun run_on(const planner::Job& job, const MachineProfile& machine, const Calibration& costs,
                   const planner::Plan& plan) {
  const planner::StepGraph graph =
      planner::build_step_graph(job, plan, planner::ProfileCostModel(machine, costs));
  const sim::Timeline timeline = sim::simulate(graph.graph);
  MeasuredRun run{plan, {}};
  for (std::size_t step = 0; step < 3; ++step) {
    const auto begin =
        timeline.spans.begin() + static_cast<std::ptrdiff_t>(step * graph.tasks_per_step);
    run.steps.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(graph.tasks_per_step));
  }
  return run;
}

Seconds predicted(const planner::Job& job, const MachineProfile& machine, const Calibration& costs,
                  const planner::Plan& plan) {
  const planner::StepGraph graph =
      planner::build_step_graph(job, plan, planner::ProfileCostModel(machine, costs));
  return to_seconds(sim::simulate(graph.graph).period(*graph.graph.period()));
}

struct Fabricated : testing::Test {
  planner::Job job = test::small_job();
  MachineProfile machine = test::small_machine();
  std::vector<planner::Plan> tuned{test::small_plan(job, 1, 3), test::small_plan(job, 4, 3)};
  std::vector<planner::Plan> unseen{test::small_plan(job, 2, 2), test::small_plan(job, 4, 1)};
  Calibration hidden = hidden_costs(job, machine, {tuned[0], tuned[1], unseen[0], unseen[1]});
};

TEST_F(Fabricated, TheTimeOfSeveralRunsIsTheMeanOfTheirs) {
  const planner::StepGraph graph =
      planner::build_step_graph(job, tuned[0], planner::ProfileCostModel(machine, {}));
  const std::vector<MeasuredRun> runs{run_on(job, machine, {}, tuned[0]),
                                      run_on(job, machine, hidden, tuned[0])};
  const Seconds quick = median_step(graph, std::span(runs).first(1));
  const Seconds slow = median_step(graph, std::span(runs).last(1));
  EXPECT_GT(slow / quick, 1.01);
  EXPECT_NEAR(median_step(graph, runs).count(), (quick + slow).count() / 2, 1e-12);
}

TEST_F(Fabricated, InterferenceIsThatOfAllRunsOrAsGiven) {
  std::vector<MeasuredRun> runs;
  std::vector<planner::StepGraph> graphs;
  for (const auto& plan : tuned) {
    runs.push_back(run_on(job, machine, hidden, plan));
    graphs.push_back(planner::build_step_graph(job, plan, planner::ProfileCostModel(machine, {})));
  }
  Calibration known;
  std::vector<TimedRun> timed{{graphs[0], runs[0]}, {graphs[1], runs[1]}};
  const auto together = learn_interference(known, machine, timed, "test");
  const CostKey key = planner::interference_key(planner::LaneKind::compute, planner::LaneKind::cpu);
  ASSERT_TRUE(known.contains(key));
  for (const LaneFactor& factor : together) {
    if (factor.on != planner::LaneKind::compute || factor.from != planner::LaneKind::cpu) continue;
    EXPECT_EQ(factor.factor, known.at(key).value);
    std::int64_t alone = 0;  // Tasks that either run by itself has to show.
    for (const TimedRun& run : timed) {
      Calibration one;
      static_cast<void>(learn_interference(one, machine, std::span(&run, 1), "test"));
      alone += one.at(key).count;
    }
    EXPECT_EQ(known.at(key).count, alone);
  }
  known.at(key).value = 0.6;
  const auto fit = fit_calibration(job, machine, known, runs, {.interference = false});
  EXPECT_EQ(fit.calibration.at(key).value, 0.6);
  EXPECT_TRUE(fit.interference.empty());
}

TEST_F(Fabricated, CalibrationMeetsTheStepTimesItWasFittedTo) {
  std::vector<MeasuredRun> runs;
  for (const auto& plan : tuned) runs.push_back(run_on(job, machine, hidden, plan));
  const CalibrationFit fit = fit_calibration(job, machine, {}, runs, {.iterations = 8});
  ASSERT_EQ(fit.runs.size(), 2u);
  for (const RunResidual& run : fit.runs) {
    EXPECT_NEAR(run.predicted / run.measured, 1, 0.01);
  }
}

TEST_F(Fabricated, CalibrationPredictsPlansItHasNeverSeen) {
  std::vector<MeasuredRun> runs;
  for (const auto& plan : tuned) runs.push_back(run_on(job, machine, hidden, plan));
  const CalibrationFit fit = fit_calibration(job, machine, {}, runs, {.iterations = 8});
  for (const auto& plan : unseen) {
    const Seconds truth = predicted(job, machine, hidden, plan);
    EXPECT_GT(std::abs(predicted(job, machine, {}, plan) / truth - 1), 0.03) << "before";
    EXPECT_NEAR(predicted(job, machine, fit.calibration, plan) / truth, 1, 0.02) << "after";
  }
}

TEST_F(Fabricated, TrueCostsAreAFixedPoint) {
  const std::vector<MeasuredRun> runs{run_on(job, machine, hidden, tuned[0])};
  const CalibrationFit fit = fit_calibration(job, machine, hidden, runs);
  for (const auto& [key, sample] : hidden) {
    const auto found = fit.calibration.find(key);
    if (found == fit.calibration.end()) continue;
    EXPECT_NEAR(found->second.value / sample.value, 1, 0.02) << key.name();
  }
  EXPECT_NEAR(fit.runs[0].predicted / fit.runs[0].measured, 1, 1e-3);
}

TEST_F(Fabricated, ResidualNamesTheKeyThatIsOff) {
  Calibration wrong = hidden;
  planner::CostKey slow;
  for (auto& [key, sample] : wrong) {
    if (key.name().starts_with("backward/block")) {
      sample.value *= 0.5;
      slow = key;
    }
  }
  const RunResidual result = residual(job, machine, wrong, run_on(job, machine, hidden, tuned[0]));
  ASSERT_FALSE(result.keys.empty());
  EXPECT_EQ(result.keys.front().key, slow);
  EXPECT_GT(result.keys.front().miss().count(), 0);
}

TEST_F(Fabricated, ShortCopiesDoNotSpeakForTheLink) {
  // The step's tokens are a kilobyte: a run that sees their copy take ten times as long, and no
  // other copy, must not believe in a link of a tenth.
  planner::Plan resident = test::small_plan(job, 1, 2);
  for (auto& unit : resident.units) {
    unit.weights = unit.gradients = unit.state = planner::Tier::hbm;
    unit.executor = planner::Executor::gpu;
    unit.when = planner::When::after;
  }
  MeasuredRun run = run_on(job, machine, {}, resident);
  const planner::StepGraph graph =
      planner::build_step_graph(job, resident, planner::ProfileCostModel(machine, {}));
  for (auto& step : run.steps) {
    for (std::size_t i = 0; i < step.size(); ++i) {
      if (graph.tasks[i].lane == planner::LaneKind::h2d) {
        step[i].start -= 10 * (step[i].end - step[i].start);
      }
    }
  }
  const CalibrationFit fit = fit_calibration(job, machine, {}, std::span(&run, 1));
  const Seconds before = predicted(job, machine, {}, tuned[1]);
  EXPECT_NEAR(predicted(job, machine, fit.calibration, tuned[1]) / before, 1, 0.02);
}

TEST_F(Fabricated, SamplesCarryWhoMeasuredWhatOnWhichProfile) {
  const std::vector<MeasuredRun> runs{run_on(job, machine, hidden, tuned[0])};
  const CalibrationFit fit = fit_calibration(job, machine, {}, runs, {.source = "autotune"});
  ASSERT_FALSE(fit.calibration.empty());
  for (const auto& [key, sample] : fit.calibration) {
    EXPECT_EQ(sample.key, key);
    EXPECT_EQ(sample.profile_hash, planner::profile_hash(machine));
    EXPECT_EQ(sample.source, "autotune");
    EXPECT_FALSE(sample.time.empty());
    EXPECT_GT(sample.count, 0);
    EXPECT_GT(sample.value, 0);
  }
}

/// Fixture for the time that a GPU's queues take between copies: no span holds it, and each piece
/// of a copy pays it.
struct HandOffs : testing::Test {
  static constexpr double kDown = 2e-5, kUp = 1e-5;

  HandOffs() {
    machine.device = planner::DeviceKind::cuda;
    // Makes the step wait for its copies.
    for (auto& [flops, rate] : machine.gemm) rate.value = 50 * rate.value;
    machine.attention_forward.value = 50 * machine.attention_forward.value;
    machine.attention_backward.value = 50 * machine.attention_backward.value;
    for (auto& [threads, rate] : machine.update) rate.value *= 50;
    for (const auto& [direction, seconds] : {std::pair(planner::CopyDirection::h2d, kDown),
                                             std::pair(planner::CopyDirection::d2h, kUp)}) {
      planner::CalibrationSample sample;
      sample.key = planner::hand_off_key(direction);
      sample.value = seconds;
      hidden[sample.key] = sample;
    }
  }

  [[nodiscard]] planner::Plan in_pieces_of(std::int64_t bytes) const {
    planner::Plan plan = test::small_plan(job, 1, 3);
    plan.copy_chunk = Bytes(bytes);
    return plan;
  }

  /// A run as the machine's clocks measure it: a copy starts after its hand-off.
  [[nodiscard]] MeasuredRun measured(const planner::Plan& plan) const {
    MeasuredRun run = run_on(job, machine, hidden, plan);
    const planner::StepGraph graph =
        planner::build_step_graph(job, plan, planner::ProfileCostModel(machine, hidden));
    for (auto& step : run.steps) {
      for (std::size_t i = 0; i < step.size(); ++i) {
        const planner::LaneKind lane = graph.tasks[i].lane;
        const bool down = lane == planner::LaneKind::h2d;
        if (!down && lane != planner::LaneKind::d2h) continue;
        step[i].start += std::chrono::nanoseconds(std::llround((down ? kDown : kUp) * 1e9));
      }
    }
    return run;
  }

  planner::Job job = test::small_job();
  MachineProfile machine = test::small_machine();
  Calibration hidden;
};

TEST_F(HandOffs, AreSeenBetweenCopiesAndPaidByEachPiece) {
  const std::vector<MeasuredRun> runs{measured(in_pieces_of(16384))};
  const CalibrationFit fit = fit_calibration(job, machine, {}, runs);
  const auto down = fit.calibration.find(planner::hand_off_key(planner::CopyDirection::h2d));
  const auto up = fit.calibration.find(planner::hand_off_key(planner::CopyDirection::d2h));
  ASSERT_NE(down, fit.calibration.end());
  ASSERT_NE(up, fit.calibration.end());
  EXPECT_NEAR(down->second.value, kDown, 1e-9);
  EXPECT_NEAR(up->second.value, kUp, 1e-9);
  EXPECT_GE(down->second.count, 20);
  const planner::Plan smaller = in_pieces_of(4096);
  const Seconds truth = predicted(job, machine, hidden, smaller);
  EXPECT_GT(truth / predicted(job, machine, {}, smaller), 1.03) << "what is not known is missed";
  EXPECT_NEAR(predicted(job, machine, fit.calibration, smaller) / truth, 1, 0.005);
}

TEST_F(HandOffs, OfFewCopiesAreNotBelieved) {
  const std::vector<MeasuredRun> runs{measured(in_pieces_of(0))};
  const CalibrationFit fit = fit_calibration(job, machine, {}, runs);
  EXPECT_FALSE(fit.calibration.contains(planner::hand_off_key(planner::CopyDirection::h2d)));
}

TEST_F(HandOffs, AreNotWhatAHostBackendTakes) {
  machine.device = planner::DeviceKind::host;
  const std::vector<MeasuredRun> runs{measured(in_pieces_of(16384))};
  const CalibrationFit fit = fit_calibration(job, machine, {}, runs);
  EXPECT_FALSE(fit.calibration.contains(planner::hand_off_key(planner::CopyDirection::h2d)));
}

}  // namespace
}  // namespace sluice::profiler
