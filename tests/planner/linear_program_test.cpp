#include "planner/linear_program.hpp"

#include <gtest/gtest.h>

namespace sluice::planner {
namespace {

TEST(LinearProgram, TwoLimitsMeetAtACorner) {
  // max x + y, 2x + y <= 4, x + 3y <= 6: x = 1.2, y = 1.6.
  const auto found = minimize({{-1, -1}, {{{2, 1}, 4}, {{1, 3}, 6}}});
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->values[0], 1.2, 1e-9);
  EXPECT_NEAR(found->values[1], 1.6, 1e-9);
  EXPECT_NEAR(found->cost, -2.8, 1e-9);
  // One more of the first limit: -(x + y) falls by 0.4; of the second by 0.2.
  EXPECT_NEAR(found->prices[0], 0.4, 1e-9);
  EXPECT_NEAR(found->prices[1], 0.2, 1e-9);
}

TEST(LinearProgram, EqualitiesAndNegativeLimits) {
  // min x + 2y, x + y = 3, x <= 2, -y <= -0.5.
  const auto found = minimize({{1, 2}, {{{1, 1}, 3, true}, {{1, 0}, 2}, {{0, -1}, -0.5}}});
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->cost, 4, 1e-9);
  EXPECT_NEAR(found->values[0], 2, 1e-9);
}

TEST(LinearProgram, SaysWhereNothingSatisfiesTheRows) {
  EXPECT_FALSE(minimize({{1}, {{{1}, 1}, {{-1}, -2}}}));
}

}  // namespace
}  // namespace sluice::planner
