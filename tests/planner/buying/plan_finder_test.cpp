#include "planner/buying/plan_finder.hpp"

#include <gtest/gtest.h>

#include "planner/buying/row_maker.hpp"
#include "planner/requests/kept_search.hpp"
#include "tests/planner/buying.hpp"

namespace sluice::planner {
namespace {

class PlansFound : public test::Buying {
 protected:
  [[nodiscard]] Request run(const std::string& machine) const {
    return run_on(config_, BuyRequest(), machine);
  }
};

TEST_F(PlansFound, AreAsFastAsASearchWouldFindOnAMachineLikeTheFirst) {
  const std::string first = machine("first"), like = machine("like");
  PlanFinder finder;
  const auto there = std::get<TimedPlan>(finder.find(run(first)));
  EXPECT_FALSE(finder.best_known(run(like)));  // Not before it settles.
  finder.settle();
  const auto known = finder.best_known(run(like));
  ASSERT_TRUE(known);
  EXPECT_EQ(known->step, there.step);
  EXPECT_EQ(std::get<TimedPlan>(finder.find(run(like))).step, there.step);
}

TEST_F(PlansFound, DoNotFitWhereTheDeviceIsTooSmall) {
  PlanFinder finder;
  ASSERT_TRUE(std::holds_alternative<TimedPlan>(finder.find(run(machine("large")))));
  finder.settle();
  EXPECT_TRUE(std::holds_alternative<Infeasible>(finder.find(run(machine("small", 1, 4096)))));
}

// What the store keeps saves a search and changes no answer.
TEST_F(PlansFound, AreKeptInTheStore) {
  const std::string only = machine("only");
  PlanFinder before;
  const auto searched = std::get<TimedPlan>(before.find(run(only)));
  ASSERT_TRUE(kept_plan(run(only)));
  PlanFinder after;
  const auto kept = std::get<TimedPlan>(after.find(run(only)));
  EXPECT_EQ(kept.plan, searched.plan);
  EXPECT_EQ(kept.step, searched.step);
}

// What a usual search found does not stand for a thorough one.
TEST_F(PlansFound, AreSearchedForThoroughlyAfterAUsualSearch) {
  const std::string only = machine("only");
  Request thrice = run(only);
  thrice.search.effort *= kThoroughTimes;
  PlanFinder finder;
  const auto usual = std::get<TimedPlan>(finder.find(run(only)));
  finder.settle();
  ASSERT_GT(to_seconds(usual.step), run(only).predictor.bound().time * 1.01);
  EXPECT_FALSE(kept_plan(thrice));
  const auto best = std::get<TimedPlan>(finder.find(run(only), SearchDepth::thorough));
  EXPECT_TRUE(kept_plan(thrice));
  EXPECT_LE(best.step, usual.step);
}

// A search that its deadline may have cut short would make the next run depend on the clock.
TEST_F(PlansFound, AreNotKeptFromASearchWithADeadline) {
  Request hurried = run(machine("only"));
  hurried.search.until = Deadline::in(Seconds(1000));
  PlanFinder finder;
  ASSERT_TRUE(std::holds_alternative<TimedPlan>(finder.find(hurried)));
  EXPECT_FALSE(kept_plan(hurried));
}

}  // namespace
}  // namespace sluice::planner
