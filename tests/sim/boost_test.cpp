#include "sim/boost.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/alone_time.hpp"
#include "sim/graph_file.hpp"
#include "tests/sim/random_graph.hpp"
#include "tests/sim/system.hpp"

namespace sluice::sim {
namespace {

constexpr double kGain = 0.4, kMost = 1.1, kWindow = 0.05;

/// A lane that waits `pause` seconds for another one, then computes `work` seconds.
System after_pause(double pause, double work) {
  System system({"compute", "h2d"});
  system.graph.add_boost({*system.graph.find_lane("compute"), kGain, kMost, Seconds(kWindow)});
  system.fixed("load", "h2d", pause).fixed("gemm", "compute", work, {"load"});
  system.graph.mutable_tasks().back().boosts = 1;
  return system;
}

double gemm_seconds(const System& system) {
  const auto [start, end] = span_ns(system, simulate(system.graph), "gemm");
  return static_cast<double>(end - start) * 1e-9;
}

TEST(LaneRest, GrowsWhileALaneIdlesAndDecaysWhileItRuns) {
  LaneRest rest({kGain, kMost, kWindow});
  EXPECT_EQ(rest.rest(), 0);
  rest.idle_for(kWindow);
  EXPECT_DOUBLE_EQ(rest.rest(), 1 - std::exp(-1));
  rest.run_for(2 * kWindow);
  EXPECT_DOUBLE_EQ(rest.rest(), (1 - std::exp(-1)) * std::exp(-2));
}

TEST(LaneRest, BelowTheMostWorkIsTimePlusWhatRestGains) {
  LaneRest rest({kGain, 2, kWindow});
  rest.set_rest(0.5, 0);
  EXPECT_DOUBLE_EQ(rest.work_in(kWindow), kWindow + 0.4 * 0.5 * kWindow * (1 - std::exp(-1)));
}

TEST(LaneRest, AtTheMostUntilRestIsUsedUp) {
  LaneRest rest({kGain, kMost, kWindow});  // 1.1 above a rest of 0.25
  rest.set_rest(0.5, 0);
  const double fast = kWindow * std::log(2);
  EXPECT_DOUBLE_EQ(rest.work_in(fast / 2), 1.1 * fast / 2);
  EXPECT_DOUBLE_EQ(rest.work_in(fast + kWindow),
                   1.1 * fast + kWindow + 0.1 * kWindow * (1 - std::exp(-1)));
}

/// Integral of `speed` from 0 to `time`, computed numerically.
template <class Speed>
double integral(double time, const Speed& speed) {
  constexpr int kPieces = 100'000;
  double sum = 0;
  for (int i = 0; i < kPieces; ++i) sum += speed(time * (i + 0.5) / kPieces) * time / kPieces;
  return sum;
}

TEST(LaneRest, WorkIsTheIntegralOfTheSpeed) {
  for (const double start : {0.1, 0.25, 0.7, 1.0}) {
    LaneRest rest({kGain, kMost, kWindow});
    rest.set_rest(start, 0);
    const auto speed = [&](double at) {
      return std::min(kMost, 1 + kGain * start * std::exp(-at / kWindow));
    };
    EXPECT_NEAR(rest.work_in(0.3), integral(0.3, speed), 1e-9);
  }
}

TEST(LaneRest, TimeOfWorkIsTheInverseOfWorkInATime) {
  for (const double start : {0.0, 0.1, 0.25, 0.3, 1.0}) {
    for (const double time : {1e-9, 1e-4, 0.01, 0.2, 30.0}) {
      LaneRest rest({kGain, kMost, kWindow});
      rest.set_rest(start, 0);
      EXPECT_NEAR(rest.time_for(rest.work_in(time)), time, 1e-12 * time + 1e-15);
    }
  }
}

TEST(LaneRest, WhatLastsIsAddedAndFadesMoreSlowly) {
  constexpr double kLasting = 0.08, kLong = 0.4;
  for (const double start : {0.0, 0.1, 0.3, 1.0}) {
    LaneRest rest({kGain, kMost, kWindow, kLasting, kLong});
    rest.set_rest(start, 0.5);
    const auto speed = [&](double at) {
      return std::min(kMost, 1 + kGain * start * std::exp(-at / kWindow)) +
             kLasting * 0.5 * std::exp(-at / kLong);
    };
    EXPECT_NEAR(rest.work_in(0.6), integral(0.6, speed), 1e-9);
    for (const double time : {1e-9, 1e-4, 0.01, 0.2, 30.0}) {
      EXPECT_NEAR(rest.time_for(rest.work_in(time)), time, 1e-12 * time + 1e-15);
    }
  }
  LaneRest rest({kGain, kMost, kWindow, kLasting, kLong});
  rest.idle_for(kLong);
  rest.run_for(kLong);
  EXPECT_DOUBLE_EQ(rest.lasting(), (1 - std::exp(-1)) * std::exp(-1));
  const LaneRest half = rest.of_share(0.5);
  EXPECT_NEAR(half.work_in(0.2) - 0.2, (rest.work_in(0.2) - 0.2) / 2, 1e-15);
}

TEST(LaneRest, WithoutGainOrWithoutMoreSpeedItChangesNothing) {
  for (const auto& [gain, most] : {std::pair(0.0, 1.5), std::pair(0.3, 1.0)}) {
    LaneRest rest({gain, most, kWindow});
    rest.set_rest(1, 0);
    EXPECT_DOUBLE_EQ(rest.work_in(0.2), 0.2);
    EXPECT_DOUBLE_EQ(rest.time_for(0.2), 0.2);
  }
}

TEST(Boost, ALaneThatNeverRestsTakesItsTime) {
  EXPECT_EQ(gemm_seconds(after_pause(0, 0.08)), 0.08);
}

TEST(Boost, AfterALongRestATaskRunsAtTheMost) {
  // A rest of 1 lasts ln 4 windows above a quarter: 69 ms.
  EXPECT_NEAR(gemm_seconds(after_pause(10, 0.044)), 0.04, 1e-9);
}

TEST(Boost, AfterAShortRestItIsAsFastAsTheRestAllows) {
  const double rest = 1 - std::exp(-0.2);  // below a quarter
  const double time = gemm_seconds(after_pause(0.01, 0.02));
  EXPECT_NEAR(time + kGain * rest * kWindow * (1 - std::exp(-time / kWindow)), 0.02, 2e-9);
}

TEST(Boost, TouchesOnlyTasksThatBoost) {
  System system = after_pause(10, 0.04);
  system.graph.mutable_tasks().back().boosts = 0;
  EXPECT_EQ(gemm_seconds(system), 0.04);
}

TEST(Boost, MultipliesWithInterference) {
  System system = after_pause(10, 0.022);
  system.graph.add_lane("d2h");
  system.interference("compute", "d2h", 0.5);
  system.fixed("store", "d2h", 1, {"load"});
  EXPECT_NEAR(gemm_seconds(system), 0.04, 1e-9);  // 0.022 / (1.1 x 0.5)
}

TEST(Boost, RestingNeverPays) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const TaskGraph graph = random_graph(seed, {.tasks = 30, .pools = false, .boost = true});
    const Bounds bound = bounds(graph);
    EXPECT_GE(to_seconds(simulate(graph).makespan).count(), bound.bound().count() - 1e-12)
        << "seed " << seed;
  }
}

TEST(Boost, ChainsAreBoundedByTasksAtFullRest) {
  const System system = after_pause(10, 0.044);
  const Bounds bound = bounds(system.graph);
  EXPECT_NEAR(bound.chain.count(), 10.04, 1e-9);
  EXPECT_NEAR(bound.lane.count(), 10, 1e-9);
}

TEST(Boost, ATaskOfAShareGainsThatShare) {
  System system = after_pause(10, 0.011);  // Short enough to run at full boost throughout.
  system.graph.mutable_tasks().back().boosts = 0.5;
  EXPECT_NEAR(gemm_seconds(system), 0.011 / (1 + 0.5 * (kMost - 1)), 2e-9);
  const TaskGraph read = read_graph(write_graph(system.graph), "g.json");
  EXPECT_EQ(read.tasks().back().boosts, 0.5);
  EXPECT_EQ(outcome(read), outcome(system.graph));
  system.graph.mutable_tasks().back().boosts = 1.5;
  EXPECT_NE(refusal([&] { validate(system.graph); }).find("boosts: must be at most 1"),
            std::string::npos);
}

TEST(Boost, IsWrittenAndReadWithTheGraph) {
  const TaskGraph graph = after_pause(0.01, 0.02).graph;
  const TaskGraph read = read_graph(write_graph(graph), "g.json");
  ASSERT_EQ(read.boosts().size(), 1U);
  EXPECT_EQ(read.boosts()[0].most, kMost);
  EXPECT_EQ(write_graph(read), write_graph(graph));
  EXPECT_EQ(outcome(read), outcome(graph));
  EXPECT_EQ(write_graph(graph).find("lasting"), std::string::npos);
}

TEST(Boost, WhatLastsIsWrittenAndReadWithTheGraph) {
  System system({"compute", "h2d"});
  system.graph.add_boost(
      {*system.graph.find_lane("compute"), kGain, kMost, Seconds(kWindow), 0.1, Seconds(0.4)});
  system.fixed("load", "h2d", 100).fixed("gemm", "compute", 0.5, {"load"});
  system.graph.mutable_tasks().back().boosts = 1;
  const TaskGraph read = read_graph(write_graph(system.graph), "g.json");
  EXPECT_EQ(read.boosts()[0].lasting_gain, 0.1);
  EXPECT_EQ(read.boosts()[0].lasting_window, Seconds(0.4));
  EXPECT_EQ(outcome(read), outcome(system.graph));
  LaneRest rest({kGain, kMost, kWindow, 0.1, 0.4});
  rest.set_rest(1, 1);
  EXPECT_NEAR(gemm_seconds(system), rest.time_for(0.5), 2e-9);
  EXPECT_NEAR(bounds(system.graph).chain.count(), 100 + rest.time_for(0.5), 1e-9);
}

TEST(Boost, RefusesWhatItCannotMean) {
  const auto refused = [](Boost boost) {
    TaskGraph graph;
    graph.add_lane("compute");
    graph.add_boost(boost);
    return refusal([&] { validate(graph); });
  };
  EXPECT_NE(refused({LaneId(0), 1.5, 2, Seconds(1)}).find("gain: must be at most 1"),
            std::string::npos);
  EXPECT_NE(refused({LaneId(0), 0.5, 0.9, Seconds(1)}).find("most"), std::string::npos);
  EXPECT_NE(refused({LaneId(0), 0.5, 1.2, Seconds(0)}).find("window"), std::string::npos);
  EXPECT_NE(refused({LaneId(0), 0.95, 1.2, Seconds(1), 0.1}).find("must be at most 1"),
            std::string::npos);
  EXPECT_NE(refused({LaneId(0), 0.5, 1.2, Seconds(1), -0.1}).find("lasting_gain"),
            std::string::npos);
  EXPECT_NE(refused({LaneId(0), 0.5, 1.2, Seconds(1), 0.1, Seconds(0)}).find("lasting_window"),
            std::string::npos);
  System system({"compute"}, {{"link", 1}});
  system.flow("t", "compute", {.amount = 1, .uses = {{"link", 1}}});
  system.graph.mutable_tasks().back().boosts = 1;
  EXPECT_NE(refusal([&] { validate(system.graph); }).find("boosts and uses links"),
            std::string::npos);
}

}  // namespace
}  // namespace sluice::sim
