#include "planner/effort/deadline.hpp"

#include <gtest/gtest.h>

namespace sluice::planner {
namespace {

TEST(Deadline, ByDefaultNeverComes) {
  const Deadline none;
  EXPECT_FALSE(none.is_set());
  EXPECT_FALSE(none.is_late());
  EXPECT_FALSE(none.part(0).is_late());
  EXPECT_GT(none.left(), std::chrono::hours(1));
}

TEST(Deadline, InNoTimeIsLateAtOnce) {
  const Deadline now = Deadline::in(Seconds(0));
  EXPECT_TRUE(now.is_set());
  EXPECT_TRUE(now.is_late());
}

TEST(Deadline, APartComesBeforeTheWhole) {
  const Deadline whole = Deadline::in(Seconds(3600));
  const Deadline half = whole.part(0.5);
  EXPECT_FALSE(half.is_late());
  EXPECT_LE(half.left(), std::chrono::seconds(1800));
  EXPECT_GT(half.left(), std::chrono::seconds(1700));
  EXPECT_TRUE(whole.part(0).is_late());
}

TEST(Deadline, LongerThanTheClockCountsIsNotLate) {
  EXPECT_FALSE(Deadline::in(Seconds(1e300)).is_late());
}

}  // namespace
}  // namespace sluice::planner
