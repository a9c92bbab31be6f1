// Tests of learning rates by step.
#include <gtest/gtest.h>

#include "planner/runs/run_config.hpp"

namespace sluice::planner {
namespace {

TEST(Schedule, WarmsUpAndDecays) {
  const Schedule cosine = {Schedule::Kind::cosine, 10, 0.1};
  EXPECT_DOUBLE_EQ(learning_rate(cosine, 1, 5, 110), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(cosine, 1, 10, 110), 1);
  EXPECT_DOUBLE_EQ(learning_rate(cosine, 1, 60, 110), 0.55);
  EXPECT_DOUBLE_EQ(learning_rate(cosine, 1, 110, 110), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate({}, 2, 1, 100), 2);
  EXPECT_DOUBLE_EQ(learning_rate({Schedule::Kind::linear, 0, 0}, 2, 50, 100), 1);
  const Schedule share = {.kind = Schedule::Kind::linear, .warmup_fraction = 0.095};
  EXPECT_DOUBLE_EQ(learning_rate(share, 1, 5, 100), 0.5);  // 9.5 steps are 10.
  EXPECT_DOUBLE_EQ(learning_rate(share, 1, 55, 100), 0.5);
}

TEST(Schedule, WarmUpStableDecay) {
  Schedule wsd = {.kind = Schedule::Kind::wsd, .warmup_steps = 10, .final_fraction = 0.2};
  wsd.decay_steps = 20;
  EXPECT_DOUBLE_EQ(learning_rate(wsd, 1, 5, 100), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(wsd, 1, 11, 100), 1);
  EXPECT_DOUBLE_EQ(learning_rate(wsd, 1, 80, 100), 1);
  EXPECT_DOUBLE_EQ(learning_rate(wsd, 1, 85, 100), 0.2 + 0.8 * 0.75);
  EXPECT_DOUBLE_EQ(learning_rate(wsd, 1, 100, 100), 0.2);
  wsd.decay_shape = Schedule::Shape::sqrt;
  EXPECT_DOUBLE_EQ(learning_rate(wsd, 1, 85, 100), 0.2 + 0.8 * 0.5);  // sqrt(1/4)
  wsd.decay_shape = Schedule::Shape::cosine;
  EXPECT_NEAR(learning_rate(wsd, 1, 90, 100), 0.6, 1e-12);
  wsd.decay_steps = 0;
  wsd.decay_fraction = 0.1;
  EXPECT_DOUBLE_EQ(learning_rate(wsd, 1, 90, 100), 1);
  EXPECT_DOUBLE_EQ(learning_rate(wsd, 1, 100, 100), 0.2);
}

TEST(Schedule, APolynomialIsThePowerOfWhatIsLeft) {
  const Schedule square = {.kind = Schedule::Kind::linear, .final_fraction = 0.2, .power = 2};
  EXPECT_DOUBLE_EQ(learning_rate(square, 1, 50, 100), 0.2 + 0.8 * 0.25);
  EXPECT_DOUBLE_EQ(learning_rate(square, 1, 100, 100), 0.2);
}

TEST(Schedule, CosineGoesDownOnceACycle) {
  const Schedule twice = {.kind = Schedule::Kind::cosine, .warmup_steps = 10, .cycles = 2};
  EXPECT_DOUBLE_EQ(learning_rate(twice, 1, 10, 110), 1);
  EXPECT_NEAR(learning_rate(twice, 1, 35, 110), 0.5, 1e-12);  // Half of the first way down.
  EXPECT_DOUBLE_EQ(learning_rate(twice, 1, 60, 110), 1);      // It begins again.
  EXPECT_NEAR(learning_rate(twice, 1, 110, 110), 0, 1e-12);
}

TEST(Schedule, InverseSqrtGoesDownWithTheSquareRootOfTheSteps) {
  Schedule slow = {.kind = Schedule::Kind::inverse_sqrt, .warmup_steps = 4};
  EXPECT_DOUBLE_EQ(learning_rate(slow, 1, 2, 100), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(slow, 1, 4, 100), 1);
  EXPECT_DOUBLE_EQ(learning_rate(slow, 1, 16, 100), 0.5);  // sqrt(4 / 16)
  slow.timescale = 12;
  EXPECT_DOUBLE_EQ(learning_rate(slow, 1, 40, 100), 0.5);  // sqrt(12 / (40 + 12 - 4))
  slow = {.kind = Schedule::Kind::inverse_sqrt};
  EXPECT_DOUBLE_EQ(learning_rate(slow, 1, 30'000, 40'000), 0.5);  // sqrt(1e4 / 4e4)
}

}  // namespace
}  // namespace sluice::planner
