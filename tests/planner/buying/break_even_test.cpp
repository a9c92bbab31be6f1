#include "planner/buying/break_even.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/buying/advice.hpp"
#include "planner/buying/choice.hpp"
#include "tests/planner/buying.hpp"

namespace sluice::planner {
namespace {

using namespace std::chrono_literals;

/// A bought build on which a run takes 3 days (2 to 4), for 3,600 USD.
BuyRow bought() {
  BuyRow row{.machine = "rtx-4090", .kind = RowKind::build, .fits = true, .step = 10s};
  row.days = 3;
  row.days_low = 2;
  row.days_high = 4;
  row.buy_usd = 3600;
  return row;
}

/// A rented machine on which a run takes 1 day (0.9 to 1.2) and 120 USD.
BuyRow rented() {
  BuyRow row{.machine = "h100-sxm", .fits = true, .step = 3s};
  row.days = 1;
  row.days_low = 0.9;
  row.days_high = 1.2;
  row.rent_usd_per_hour = 5;
  row.rent_usd = 120;
  return row;
}

// 2 runs a month save 240 USD of rent a month: 3,600 USD are back after 15 months.
TEST(BreakEven, IsThePriceOverTheRentSavedInAMonth) {
  BuyRequest request;
  request.use.runs_per_month = 2;
  const BreakEven pays = break_even(bought(), rented(), request);
  EXPECT_DOUBLE_EQ(*pays.months, 15);
  EXPECT_DOUBLE_EQ(*pays.months_low, 12.5);           // 2 x 5 x 24 x 1.2 = 288 USD a month
  EXPECT_DOUBLE_EQ(*pays.months_high, 3600 / 216.0);  // 2 x 5 x 24 x 0.9
  EXPECT_TRUE(pays_in_time(pays, request));
}

TEST(BreakEven, AShareOfTheTimeIsSoManyRunsAMonth) {
  BuyRequest request;
  request.use.share = 0.5;
  const BreakEven half = break_even(bought(), rented(), request);
  EXPECT_DOUBLE_EQ(half.runs_per_month, 0.5 * kDaysPerMonth / 3);
  EXPECT_DOUBLE_EQ(*half.months, 3600 / (half.runs_per_month * 120));
  request.use.share.reset();  // Without a pause, and then no use is stated.
  const BreakEven full = break_even(bought(), rented(), request);
  EXPECT_DOUBLE_EQ(*full.months, *half.months / 2);
  EXPECT_FALSE(pays_in_time(full, request));
}

TEST(BreakEven, AMachineDoesNoMoreRunsAMonthThanItHasTimeFor) {
  BuyRequest request;
  request.use.runs_per_month = 100;
  const BreakEven pays = break_even(bought(), rented(), request);
  EXPECT_TRUE(pays.is_capped);
  EXPECT_DOUBLE_EQ(pays.runs_per_month, kDaysPerMonth / 3);
}

// An RTX 4090 has 450 W and its host's 16 cores 8 W each: 578 W x 72 h x 0.25 USD/kWh = 10.404 USD
// a run; at least half of 450 W and 3 W a core, at most all of them and 15 W a core.
TEST(BreakEven, ElectricityIsThatOfGpuAndCpuByARuleWithAnInterval) {
  BuyRequest request;
  request.use.runs_per_month = 2;
  request.use.usd_per_kwh = 0.25;
  const BreakEven pays = break_even(bought(), rented(), request);
  EXPECT_DOUBLE_EQ(pays.run.watts->usual, 578);
  EXPECT_DOUBLE_EQ(pays.run.watts->low, 225 + 48);
  EXPECT_DOUBLE_EQ(pays.run.watts->high, 450 + 240);
  EXPECT_NEAR(pays.run.energy_usd.usual, 10.404, 1e-9);
  EXPECT_NEAR(*pays.months, 3600 / (2 * (120 - 10.404)), 1e-9);
  // 2 days of the 3 at 273 W, and 1.2 days of rent.
  EXPECT_NEAR(*pays.months_low, 3600 / (2 * (144 - 48 * 0.273 * 0.25)), 1e-9);
  EXPECT_NEAR(*pays.months_high, 3600 / (2 * (108 - 96 * 0.690 * 0.25)), 1e-9);
}

TEST(BreakEven, WhatTheMachineIsSoldForIsNotToBeEarned) {
  BuyRequest request;
  request.use.runs_per_month = 2;
  request.use.resale = 0.4;
  EXPECT_DOUBLE_EQ(*break_even(bought(), rented(), request).months, 0.6 * 15);
}

// A run of 25,920 steps of 10 s wears three drives of 8,640 steps each: 450 USD a run, which is
// more than rent.
TEST(BreakEven, DrivesThatWearOutAreInTheSumAndBuyingMayNeverPay) {
  BuyRequest request;
  request.prices = test::part_prices();
  BuyRow row = bought();
  row.wear = SsdWear{.written_a_step = Bytes(1), .steps = 8640.0};
  const BreakEven pays = break_even(row, rented(), request);
  EXPECT_NEAR(pays.run.drives_usd, 450, 1e-9);
  EXPECT_FALSE(pays.months.has_value());
  EXPECT_EQ(soonest_to_pay({row}, request, rented()), nullptr);
}

TEST(BreakEven, IsSaidInMonthsWithTheMonthInWhichItComes) {
  BuyRequest request;
  request.use.runs_per_month = 2;
  request.use.today = std::chrono::year_month_day(std::chrono::year(2026), std::chrono::November,
                                                  std::chrono::day(27));
  const std::string text = months_text(break_even(bought(), rented(), request), request);
  EXPECT_EQ(text, "15 months (12 to 17; February 2028)");
}

TEST(BreakEven, SaysWhatWouldChangeTheAdvice) {
  BuyRequest request;
  // Without a pause: 3,600 / (30.437 / 3 x 120) = 2.96 months, a twelfth of the time kept.
  EXPECT_EQ(unless_text(bought(), rented(), request),
            "unless rtx-4090 works more than 8 % of the time for 3 years");
  request.use.runs_per_month = 0.5;  // 1.5 days in 30.4.
  EXPECT_THAT(unless_text(bought(), rented(), request),
              testing::HasSubstr("8 % of the time for 3 years; as stated it works 4.9 % of it"));
  request.use.runs_per_month.reset();
  BuyRow dear = bought();
  dear.buy_usd = 2 * 36 * kDaysPerMonth / 3 * 120;
  EXPECT_THAT(unless_text(dear, rented(), request),
              testing::HasSubstr("unless it costs 50 % less or rent rises by 100 %"));
}

// A break-even of four years was once given as "699 runs", for a machine too slow for the days
// asked for.
TEST(BreakEven, IsNotOfAMachineThatIsTooSlowOrTooDear) {
  BuyRequest request;
  request.days = 2;
  EXPECT_EQ(soonest_to_pay({bought()}, request, rented()), nullptr);
  request.days.reset();
  request.budget_usd = 3000;
  EXPECT_EQ(soonest_to_pay({bought()}, request, rented()), nullptr);
}

TEST(Advice, RentsOrBuysByTheUseThatIsStated) {
  const std::vector<BuyRow> rows = {rented(), bought()};
  BuyRequest request;
  request.tokens = 1e9;
  request.budget_usd = 4000;
  EXPECT_EQ(advised_machine(rows, request), "h100-sxm");
  request.use.runs_per_month = 2;
  EXPECT_EQ(advised_machine(rows, request), "rtx-4090");
  request.use.runs_per_month = 0.5;  // 60 months.
  EXPECT_EQ(advised_machine(rows, request), "h100-sxm");
}

// What binds, what to add and how sure it is are said of the machine that is advised.
TEST(Advice, ExplainsTheMachineThatItAdvises) {
  BuyReport report{.rows = {rented(), bought()}};
  BuyRequest request;
  request.tokens = 1e9;
  report.base = *advised_machine(report.rows, request);
  report.elasticity = {{"compute", -0.9}};
  const std::string said = test::said(report, request);
  EXPECT_THAT(said, testing::StartsWith("Rent, do not buy, for one such run: h100-sxm"));
  EXPECT_THAT(said, testing::HasSubstr("What binds on h100-sxm"));
  EXPECT_THAT(said, testing::HasSubstr("Buying pays, against renting h100-sxm, after 3.0 months"));
  EXPECT_THAT(said, testing::Not(testing::HasSubstr(" runs on")));
}

// A rent twice as dear for half the time is named; buying then pays sooner against it.
TEST(Advice, WeighsBuyingAgainstTheFasterRentToo) {
  BuyRow faster = rented();
  faster.machine = "h200";
  faster.days = 0.4 * *rented().days;
  faster.rent_usd = 2 * *rented().rent_usd;
  faster.rent_usd_per_hour = 5 * *rented().rent_usd_per_hour;
  BuyReport report{.rows = {faster, rented(), bought()}};
  BuyRequest request;
  request.tokens = 1e9;
  report.base = *advised_machine(report.rows, request);
  EXPECT_THAT(test::said(report, request),
              testing::HasSubstr("of work without a pause (1.5 months against h200)"));
}

// Two rents lie within a tenth of each other: the one on a GPU that the engine knows is named too.
TEST(Advice, NamesARentThatIsHardlyDearerAndTested) {
  BuyRow tested = rented();
  tested.machine = "h200";
  tested.rent_usd = 1.05 * *rented().rent_usd;
  tested.engine = EngineOnGpu::tested;
  BuyReport report{.rows = {rented(), tested, bought()}, .base = "h100-sxm"};
  report.rows[0].engine = EngineOnGpu::never_run;
  BuyRequest request;
  request.tokens = 1e9;
  EXPECT_THAT(test::said(report, request),
              testing::HasSubstr("Hardly dearer, and on a GPU on which Sluice has run: h200"));
  report.rows[1].rent_usd = 1.2 * *rented().rent_usd;
  EXPECT_THAT(test::said(report, request), testing::Not(testing::HasSubstr("Hardly dearer")));
}

TEST(Advice, SaysHowOldItsPricesAre) {
  BuyReport report{.rows = {bought()}, .base = "rtx-4090"};
  report.rows[0].price_date = "2022-10-12";
  BuyRequest request;
  const std::string old = "The price of rtx-4090 is of 2022-10-12";
  EXPECT_THAT(test::said(report, request),
              testing::Not(testing::HasSubstr(old)));  // No date known.
  request.use.today = std::chrono::year_month_day(std::chrono::year(2023), std::chrono::January,
                                                  std::chrono::day(10));
  EXPECT_THAT(test::said(report, request), testing::Not(testing::HasSubstr(old)));
  request.use.today = std::chrono::year_month_day(std::chrono::year(2026), std::chrono::November,
                                                  std::chrono::day(27));
  EXPECT_THAT(test::said(report, request), testing::HasSubstr(old));
}

TEST(Advice, SaysWhatTheEngineHasNeverDone) {
  BuyReport report{.rows = {rented(), bought()}, .base = "h100-sxm"};
  report.rows[0].engine = EngineOnGpu::never_run;
  BuyRequest request;
  EXPECT_THAT(test::said(report, request),
              testing::HasSubstr("Sluice has never run on the GPU of h100-sxm"));
  report.rows[0].engine = EngineOnGpu::none;
  EXPECT_EQ(advised_machine(report.rows, request), "rtx-4090");
  EXPECT_THAT(test::said(report, request),
              testing::HasSubstr("Not advised, the engine does not run there: h100-sxm."));
  report.untrainable = "gpt_oss is predicted only";
  EXPECT_THAT(test::said(report, request),
              testing::StartsWith("Buy or rent nothing for this: Sluice cannot train it."));
}

}  // namespace
}  // namespace sluice::planner
