#include "planner/buying/advice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/buying/choice.hpp"
#include "tests/planner/buying.hpp"

namespace sluice::planner {
namespace {

using test::said;

/// A report whose only row fits.
BuyReport report_of_one(const std::string& machine) {
  BuyReport report;
  report.base = machine;
  report.rows.emplace_back().machine = machine;
  report.rows.front().fits = true;
  return report;
}

/// A report whose only row and only order fit.
BuyReport report_of_order(const std::string& what, double speedup, double price) {
  BuyReport report = report_of_one("mine");
  Upgrade& order = report.upgrades.emplace_back(Upgrade{.what = what});
  order.fits = true;
  order.speedup = speedup;
  order.price = price;
  return report;
}

TEST(Verdict, AddsNothingThatIsDearerThanTheBudget) {
  const BuyReport report = report_of_order("a better card", 2, 9000);
  BuyRequest request;
  EXPECT_NE(said(report, request).find("a better card"), std::string::npos);
  request.budget_usd = 5000;
  EXPECT_NE(said(report, request).find("nothing: no order"), std::string::npos);
  EXPECT_NE(said(report, request).find("within 5,000 USD"), std::string::npos);
}

TEST(Verdict, NamesTheCheapestBuildsThatWereLeftOut) {
  BuyReport report;
  BuyRequest request;
  report.builds = {.planned = 5, .ruled_out = 2};
  EXPECT_EQ(said(report, request).find("left out"), std::string::npos);
  report.builds.left_out = {{.machine = "cheap + 1x48 GiB", .usd = 3238, .lends_drives = true},
                            {.machine = "other", .usd = 4000},
                            {.machine = "third", .usd = 4100},
                            {.machine = "fourth", .usd = 4200},
                            {.machine = "fifth", .usd = 4300}};
  const std::string text = said(report, request);
  EXPECT_NE(text.find("cheap + 1x48 GiB, with state on its drives, for 3,238 USD"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("other for 4,000 USD"), std::string::npos) << text;
  EXPECT_NE(text.find("and dearer ones of 4 more GPUs"), std::string::npos) << text;
}

TEST(Verdict, SaysWhatLeavesFewerBuildsOpen) {
  BuyReport report;
  BuyRequest request;
  report.builds = {.planned = 120, .ruled_out = 2, .open = 7};
  EXPECT_NE(said(report, request).find("the search ends after so many"), std::string::npos);
  request.until = Deadline::in(Seconds(1000));
  EXPECT_NE(said(report, request).find("--seconds searches for longer"), std::string::npos);
}

TEST(Verdict, NamesWhatNoPlanWasSearchedFor) {
  BuyReport report;
  BuyRequest request;
  EXPECT_EQ(said(report, request).find("Not planned"), std::string::npos);
  for (const char* name : {"one", "two", "three", "four", "five"}) {
    report.rows.push_back({.machine = name});
    report.rows.back().limit = kNotPlanned;
  }
  EXPECT_NE(said(report, request).find("one, two, three and 2 more"), std::string::npos);
}

TEST(Verdict, SaysWhatAnOrderCostsWithTheMachine) {
  BuyReport report = report_of_order("+2 DIMMs", 1.5, 200);
  report.upgrades.front().total = 3350;
  BuyRequest request;
  request.budget_usd = 3200;
  EXPECT_THAT(said(report, request),
              testing::HasSubstr("within 3,200 USD for machine and order together; beyond "
                                 "it, +2 DIMMs: 1.50 times as fast for 200 USD (3,350 USD "
                                 "with the machine)"));
  request.budget_usd = 4000;
  EXPECT_THAT(said(report, request), testing::HasSubstr("What to add to mine: +2 DIMMs"));
}

TEST(BestToBuy, IsNotFurtherFromTheFastestThanATenthThroughAChainOfRows) {
  std::vector<BuyRow> rows;
  for (const auto& [step, usd] : {std::pair(10.0, 4000.0), {10.8, 3600.0}, {11.6, 3000.0}}) {
    BuyRow& row = rows.emplace_back();
    row.fits = true;
    row.step = std::chrono::duration_cast<Duration>(Seconds(step));
    row.buy_usd = usd;
  }
  EXPECT_EQ(best_to_buy(rows, {}, true), &rows[1]);
}

TEST(Verdict, SaysFromHowManyTokensSeveralGpusPay) {
  BuyReport report = report_of_one("alone");
  EXPECT_THAT(said(report, {}), testing::Not(testing::HasSubstr("Several GPUs")));
  report.devices = DevicesWorth{.machine = "4x-alone", .pay = {.devices = 4, .speed = 3.1}};
  report.devices->pay.pays_from = 65536;
  EXPECT_THAT(said(report, {}),
              testing::HasSubstr("Several GPUs: the 4 of 4x-alone do 3.10 times what one of them "
                                 "does; more than 2 times from 65536 tokens a step on."));
  report.devices->pay = {.devices = 3, .speed = 1.2, .most_tried = 4096};
  EXPECT_THAT(said(report, {}), testing::HasSubstr("1.5 times at no number up to 4096 tokens"));
  report.devices->pay.speed.reset();
  EXPECT_THAT(said(report, {}), testing::HasSubstr("hold this job, and one of them does not."));
}

}  // namespace
}  // namespace sluice::planner
