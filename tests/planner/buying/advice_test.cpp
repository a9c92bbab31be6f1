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
  for (const auto& [step, usd] : {std::pair(10.0, 4000.0), {10.8, 3900.0}, {11.6, 3800.0}}) {
    BuyRow& row = rows.emplace_back();
    row.fits = true;
    row.step = std::chrono::duration_cast<Duration>(Seconds(step));
    row.buy_usd = usd;
  }
  EXPECT_EQ(best_to_buy(rows, {}, true), &rows[1]);
}

TEST(Verdict, SaysWhereARentedNodeMayCostLess) {
  BuyReport report = report_of_one("alone");
  BuyRow alone = report.rows.front();
  alone.days = alone.days_low = alone.days_high = 4;
  alone.rent_usd_per_hour = 3;
  alone.rent_usd = 3 * 24 * 4;
  BuyRow node = alone;
  node.machine = "8x-alone";
  node.kind = RowKind::resident_node;
  node.days = node.days_low = 0.5;
  node.days_high = 1;
  node.rent_usd_per_hour = 24;
  node.rent_usd = 24 * 12;
  report.rows = {node, alone};
  // 288 to 576 USD against 288.
  EXPECT_THAT(said(report, {}), testing::HasSubstr("24.0 hours, 288 USD to 576 USD."));
  report.rows[0].rent_usd = 144;
  report.rows[0].rent_usd_per_hour = 12;
  EXPECT_THAT(said(report, {}), testing::HasSubstr("144 USD to 288 USD: cheaper, too."));
  report.rows[1].rent_usd = 200;
  EXPECT_THAT(said(report, {}), testing::HasSubstr("144 USD to 288 USD: perhaps cheaper, too."));
}

}  // namespace
}  // namespace sluice::planner
