#include "engine/rehearsal/rehearsal.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "engine/host/host_device.hpp"
#include "planner/plans/random_plan.hpp"
#include "tests/engine/run_plan.hpp"
#include "tests/engine/scratch_folder.hpp"
#include "tests/engine/training/rank_jobs.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::engine {
namespace {

using planner::HostWindow;
using planner::WindowUse;

std::unique_ptr<Device> windowed_device(const planner::Job& job, const planner::StepGraph& graph,
                                        const HostWindow& window, std::int64_t threads) {
  const ArenaSizes sizes{graph.layout.device_bytes, window.bytes()};
  const LinkPace pace{BytesPerSecond(1e12), Seconds(0)};
  return std::make_unique<HostDevice>(job,
                                      HostDeviceSettings{.arenas = sizes,
                                                         .capacity = sizes,
                                                         .h2d = pace,
                                                         .d2h = pace,
                                                         .threads = static_cast<int>(threads)});
}

std::vector<std::unique_ptr<Device>> windowed_devices(const planner::Job& job,
                                                      const planner::StepGraph& graph,
                                                      const HostWindow& window,
                                                      std::int64_t threads) {
  std::vector<std::unique_ptr<Device>> devices;
  for (std::int64_t rank = 0; rank < graph.ranks; ++rank) {
    devices.push_back(windowed_device(job, graph, window, threads));
  }
  return devices;
}

/// The bytes of a part as elements.
template <class Element>
std::vector<Element> elements(const HostWindow& window, const std::vector<std::byte>& host,
                              WindowUse use) {
  const planner::WindowPart& part = window.part(use);
  std::vector<Element> values(static_cast<std::size_t>(part.bytes.count()) / sizeof(Element));
  std::memcpy(values.data(), host.data() + part.offset.count(), values.size() * sizeof(Element));
  return values;
}

TEST(Rehearsal, WhatIsOnTheDiskIsMovedAndNeverComputedWith) {
  for (const test::NamedJob& named : test::small_jobs()) {
    planner::UnitPlan unit;
    unit.state = unit.gradients = unit.weights = planner::Tier::disk;
    planner::Plan plan = planner::uniform_plan(named.job, unit, 2);
    plan.disk_buffer = planner::kDiskBlock;
    const planner::StepGraph graph = test::graph_of(named.job, plan);
    const HostWindow window(graph, HostWindow::least(graph));
    EXPECT_EQ(planner::find_window_fault(graph, window), std::nullopt) << named.name;
    test::RunTokens tokens(named.job);
    const test::ScratchFolder folder;
    Rehearsal rehearsal(named.job, graph, window,
                        windowed_devices(named.job, graph, window, plan.threads), tokens,
                        [](std::int64_t) { return 1e-2; }, nullptr, {.folder = folder.path()});
    EXPECT_EQ(rehearsal.run_to(4, [](std::int64_t, const StepResult&) {}), 4);
    EXPECT_EQ(rehearsal.values().fault(), std::nullopt) << named.name;
    ASSERT_NE(rehearsal.disk(), nullptr);
    EXPECT_GE(rehearsal.disk()->written().count(), 4 * 10);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  }
}

TEST(Rehearsal, EveryJobRunsUnderAnyPlanOnValuesThatStayNormal) {
  for (const test::NamedJob& named : test::small_jobs()) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      const planner::Plan plan = planner::random_plan(named.job, seed);
      const planner::StepGraph graph = test::graph_of(named.job, plan);
      const HostWindow window(graph, HostWindow::least(graph));
      test::RunTokens tokens(named.job);
      Rehearsal rehearsal(
          named.job, graph, window, windowed_devices(named.job, graph, window, plan.threads),
          tokens, [](std::int64_t) { return 1e-2; }, nullptr);
      std::int64_t done = 0;
      const std::int64_t last =
          rehearsal.run_to(8, [&](std::int64_t step, const StepResult& result) {
            EXPECT_EQ(step, ++done);
            EXPECT_TRUE(std::isfinite(result.loss));
          });
      EXPECT_EQ(last, 8);
      const RehearsalValues values = rehearsal.values();
      EXPECT_EQ(values.fault(), std::nullopt) << named.name << " seed " << seed;
      EXPECT_GT(values.window.values + values.device.values, 0);
      EXPECT_GT(rehearsal.touched(planner::Arena::host), Bytes(0));
      EXPECT_LE(rehearsal.touched(planner::Arena::host), window.bytes());
    }
  }
}

TEST(Rehearsal, SeveralRanksRunOnWindowsOfTheirOwnAndStopTogether) {
  for (const test::NamedJob& named : test::ranked_jobs(4)) {
    for (std::uint64_t seed = 0; seed < 2; ++seed) {
      const planner::Plan plan = planner::random_plan(named.job, seed, 2);
      const planner::StepGraph graph = test::graph_of(named.job, plan);
      const HostWindow window(graph, HostWindow::least(graph));
      EXPECT_EQ(planner::find_window_fault(graph, window), std::nullopt) << named.name;
      test::RunTokens tokens(named.job);
      Rehearsal rehearsal(
          named.job, graph, window, windowed_devices(named.job, graph, window, plan.threads),
          tokens, [](std::int64_t) { return 1e-2; }, nullptr);
      const std::int64_t last =
          rehearsal.run_to(50, [&](std::int64_t step, const StepResult& result) {
            EXPECT_TRUE(std::isfinite(result.loss));
            if (step == 3) rehearsal.request_stop();
          });
      EXPECT_GE(last, 3);
      EXPECT_LT(last, 50);
      EXPECT_EQ(rehearsal.values().fault(), std::nullopt) << named.name << " seed " << seed;
    }
  }
}

/// Weight, m and gradient of one parameter are made so that updates move it away from zero.
TEST(Rehearsal, TheOptimizersOperandsGoTogether) {
  const planner::Job job = planner::test::tiny_job();
  const planner::StepGraph graph =
      test::graph_of(job, planner::uniform_plan(job, planner::UnitPlan{}, 2));
  const HostWindow window(graph, HostWindow::least(graph) * 2);
  std::vector<std::byte> host(static_cast<std::size_t>(window.bytes().count()));
  fill_window(window, job, host);
  const auto high = elements<std::uint16_t>(window, host, WindowUse::high);
  const auto m = elements<float>(window, host, WindowUse::moment1);
  const auto v = elements<float>(window, host, WindowUse::moment2);
  const auto gradient = elements<float>(window, host, WindowUse::gradient);
  ASSERT_GT(high.size(), 1000U);
  ASSERT_EQ(high.size(), m.size());
  ASSERT_EQ(high.size(), gradient.size());
  std::size_t negative = 0;
  for (std::size_t i = 0; i < high.size(); ++i) {
    const bool below_zero = (high[i] & 0x8000) != 0;
    negative += below_zero ? 1 : 0;
    ASSERT_EQ(std::signbit(gradient[i]), !below_zero) << i;
    ASSERT_EQ(m[i], gradient[i]) << i;
    ASSERT_GT(v[i], 0.0F);
    ASSERT_LT(std::abs(gradient[i]), 0.0625F);
    ASSERT_GE(std::abs(gradient[i]), 0.015625F);
  }
  EXPECT_GT(negative, high.size() / 3);
  EXPECT_LT(negative, 2 * high.size() / 3);
}

TEST(Rehearsal, ACensusTellsWhatAProcessorTellsApart) {
  const std::vector<float> floats = {1.0F, 0.0F, -0.0F, 1e-40F, INFINITY, -INFINITY, NAN, -2.5F};
  const ValueCensus found = census_of_floats(std::as_bytes(std::span(floats)));
  EXPECT_EQ(found.values, 8);
  EXPECT_EQ(found.zero, 2);
  EXPECT_EQ(found.denormal, 1);
  EXPECT_EQ(found.infinite, 2);
  EXPECT_EQ(found.nan, 1);
  const std::vector<std::uint16_t> halves = {0x3F80, 0x0000, 0x0001, 0x7F80, 0x7FC0};
  const ValueCensus of_halves = census_of_halves(std::as_bytes(std::span(halves)));
  EXPECT_EQ(of_halves.zero, 1);
  EXPECT_EQ(of_halves.denormal, 1);
  EXPECT_EQ(of_halves.infinite, 1);
  EXPECT_EQ(of_halves.nan, 1);
}

TEST(Rehearsal, AFaultNamesWhereAndHowMany) {
  RehearsalValues values;
  values.window.values = values.device.values = 5000;
  EXPECT_EQ(values.fault(), std::nullopt);
  values.gradients.zero = 7;  // Rows of tokens that did not occur are zero.
  EXPECT_EQ(values.fault(), std::nullopt);
  values.device.denormal = 5;
  EXPECT_EQ(values.fault(), std::nullopt);
  values.device.denormal = 6;
  EXPECT_EQ(values.fault(), "6 of 5000 values of the device's state are denormal");
  values.window.denormal = 1;
  EXPECT_EQ(values.fault(), "1 of 5000 values of the window are denormal");
  values.window = {.values = 5000, .zero = 2};
  values.device = {};
  EXPECT_EQ(values.fault(), "2 of 5000 values of the window are zero");
  values.window.nan = 3;
  EXPECT_EQ(values.fault(), "3 of 5000 values of the window are not numbers");
}

}  // namespace
}  // namespace sluice::engine
