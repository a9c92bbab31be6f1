#include "profiler/traces/comparison.hpp"

#include <gtest/gtest.h>

namespace sluice::profiler {
namespace {

sim::TraceSpan span(const std::string& id, const std::string& lane, const std::string& kind,
                    int start_ms, int end_ms) {
  return {id,
          lane,
          kind,
          Instant(std::chrono::milliseconds(start_ms)),
          Instant(std::chrono::milliseconds(end_ms)),
          Bytes(0)};
}

TEST(Comparison, AddsUpKindsAndLanesOfTasksThatBothTracesHold) {
  const sim::Trace a{{span("s2/fwd/L0", "compute", "forward", 0, 10),
                      span("s2/fwd/L1", "compute", "forward", 10, 20),
                      span("s2/load/L0", "h2d", "load_weights", 0, 4)}};
  const sim::Trace b{{span("s2/fwd/L0", "compute", "forward", 0, 11),
                      span("s2/fwd/L1", "compute", "forward", 11, 24),
                      span("s2/load/L0", "h2d", "load_weights", 0, 3)}};
  const Comparison comparison = compare(a, b);
  ASSERT_EQ(comparison.kinds.size(), 2u);
  EXPECT_EQ(comparison.kinds[0].name, "forward");
  EXPECT_EQ(comparison.kinds[0].count, 2u);
  EXPECT_NEAR(comparison.kinds[0].a.count(), 0.020, 1e-12);
  EXPECT_NEAR(comparison.kinds[0].b.count(), 0.024, 1e-12);
  EXPECT_NEAR(comparison.kinds[1].difference().count(), -0.001, 1e-12);
  ASSERT_EQ(comparison.lanes.size(), 2u);
  EXPECT_EQ(comparison.lanes[0].name, "compute");
}

TEST(Comparison, ListsUnmatchedIdsAndLeavesThemOutOfTheRows) {
  const sim::Trace a{
      {span("x", "compute", "forward", 0, 1), span("only-a", "compute", "loss", 1, 2)}};
  const sim::Trace b{{span("x", "compute", "forward", 0, 1), span("only-b", "h2d", "load", 0, 9)}};
  const Comparison comparison = compare(a, b);
  EXPECT_EQ(comparison.only_a, std::vector<std::string>{"only-a"});
  EXPECT_EQ(comparison.only_b, std::vector<std::string>{"only-b"});
  EXPECT_EQ(comparison.kinds.size(), 1u);
  const std::string text = comparison_text(comparison, "A", "B");
  EXPECT_NE(text.find("1 task only in A: only-a"), std::string::npos);
  EXPECT_NE(text.find("1 task only in B: only-b"), std::string::npos);
}

TEST(Comparison, StepIsTheDistanceOfTheGradsTasks) {
  const sim::Trace trace{{span("s2/grads", "compute", "grads", 100, 100),
                          span("s3/grads", "compute", "grads", 340, 340)}};
  EXPECT_NEAR(step_period(trace).count(), 0.240, 1e-12);
  EXPECT_EQ(step_period(sim::Trace{}).count(), 0);
}

TEST(Comparison, EmptyTracesCompareEqual) {
  const Comparison comparison = compare({}, {});
  EXPECT_TRUE(comparison.kinds.empty());
  EXPECT_TRUE(comparison.only_a.empty());
}

}  // namespace
}  // namespace sluice::profiler
