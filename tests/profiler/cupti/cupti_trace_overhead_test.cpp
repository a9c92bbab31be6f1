#include <gtest/gtest.h>

#include <vector>

#include "profiler/cupti/trace_overhead.hpp"
#include "tests/profiler/cupti/cupti_records.hpp"

namespace sluice::profiler::cupti::test {
namespace {

using Steps = std::vector<Seconds>;

Steps steps(std::initializer_list<double> milliseconds) {
  Steps result;
  for (const double ms : milliseconds) result.emplace_back(ms * 1e-3);
  return result;
}

TEST(TraceOverhead, IsTheRatioOfMediansSoThatOneSlowStepDoesNotMatter) {
  const TraceOverhead overhead =
      trace_overhead(steps({100, 100, 100, 300}), steps({101, 101, 101, 101, 900}));
  EXPECT_NEAR(overhead.share, 0.01, 1e-12);
  EXPECT_EQ(overhead.deviation, 0);
  EXPECT_EQ(why_unfit(overhead), std::nullopt);
}

TEST(TraceOverhead, AboveTwoPercentIsRefusedInOneLineWithNumbers) {
  const auto why = why_unfit(trace_overhead(steps({100, 100, 100}), steps({103, 103, 103})));
  ASSERT_TRUE(why);
  EXPECT_TRUE(contains(*why, "3.0 +- 0.0 %"));
  EXPECT_TRUE(contains(*why, "103.000 ms traced, 100.000 ms not"));
  EXPECT_TRUE(contains(*why, "3 and 3 steps"));
  EXPECT_EQ(why->find('\n'), std::string::npos);
  EXPECT_EQ(why->find("more steps"), std::string::npos);
}

TEST(TraceOverhead, TwoPercentAndFasterStepsPass) {
  EXPECT_EQ(why_unfit(trace_overhead(steps({100, 100, 100}), steps({101.9, 101.9, 101.9}))),
            std::nullopt);
  EXPECT_EQ(why_unfit(trace_overhead(steps({100, 100, 100}), steps({99, 99, 99}))), std::nullopt);
}

TEST(TraceOverhead, TheErrorIsThatOfBothMedians) {
  // Absolute deviations from the median 100: 0, 1, 1, 2, 2; median 1, so 1.4826 ms of deviation,
  // and sqrt(pi / 2 / 5) of it for the median of five: 0.83 %, of both together 1.18 %.
  const TraceOverhead overhead =
      trace_overhead(steps({98, 99, 100, 101, 102}), steps({98, 99, 100, 101, 102}));
  EXPECT_EQ(overhead.share, 0);
  EXPECT_NEAR(overhead.deviation, 0.011752, 1e-6);
}

TEST(TraceOverhead, WhereSpreadCouldExplainItMoreStepsAreAskedFor) {
  const auto why =
      why_unfit(trace_overhead(steps({98, 99, 100, 101, 102}), steps({101, 102, 103, 104, 105})));
  EXPECT_TRUE(contains(why.value_or(""), "measure more steps"));
}

TEST(TraceOverhead, IsOpenOnlyWhereItSeemsTooMuchAndSpreadCouldExplainIt) {
  const Steps spread = steps({98, 99, 100, 101, 102});
  EXPECT_TRUE(is_undecided(trace_overhead(spread, steps({101, 102, 103, 104, 105}))));
  EXPECT_FALSE(is_undecided(trace_overhead(spread, steps({108, 109, 110, 111, 112}))));
  EXPECT_FALSE(is_undecided(trace_overhead(spread, spread)));
  EXPECT_FALSE(is_undecided(trace_overhead(steps({100, 100, 100}), steps({103, 103, 103}))));
}

TEST(TraceOverhead, TooFewStepsAreUnknownNotFree) {
  EXPECT_TRUE(
      contains(why_unfit(trace_overhead(steps({100, 100}), steps({100, 100, 100}))).value_or(""),
               "2 untraced and 3 traced"));
  EXPECT_TRUE(why_unfit(trace_overhead({}, {})));
}

}  // namespace
}  // namespace sluice::profiler::cupti::test
