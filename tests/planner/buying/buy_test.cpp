#include "planner/buying/buy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "planner/buying/rented_rows.hpp"
#include "tests/planner/buying.hpp"

namespace sluice::planner {
namespace {

using test::part_prices;
using test::priced;

class Buy : public test::Buying {};

std::vector<BuyRow> instance_rows(const RunConfig& config, const BuyRequest& request) {
  PlanFinder finder;
  return instance_rows(config, request, finder);
}

TEST_F(Buy, RanksByStepTimeAndKeepsWhatDoesNotFitAsARow) {
  const std::string slow = machine("slow");
  const std::string fast = machine("fast", 4);
  const std::string small = machine("small", 8, 4096);
  config_.machine = slow;
  BuyRequest request;
  request.machines = {slow, small, fast};
  request.tokens = 1e6;
  request.days = 1e9;
  request.budget_usd = 10;
  request.prices.machines[fast] = priced(20, 1);
  const BuyReport report = buy(config_, request);
  const std::vector<BuyRow>& rows = report.rows;
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].machine, fast);
  EXPECT_EQ(rows[1].machine, slow);
  EXPECT_EQ(rows[2].machine, small);
  EXPECT_FALSE(rows[2].fits);
  EXPECT_NE(rows[2].limit.find("hbm"), std::string::npos);
  EXPECT_NEAR(*rows[0].days, 1e6 / rows[0].tokens_per_s / 86400, 1e-9);
  EXPECT_LE(*rows[0].days_low, *rows[0].days);
  EXPECT_GE(*rows[0].days_high, *rows[0].days);
  EXPECT_EQ(rows[0].cost, 20);
  EXPECT_EQ(rows[0].within_budget, false);
  EXPECT_EQ(rows[0].within_days, true);
  EXPECT_FALSE(rows[1].price.has_value());  // Never guessed.
  EXPECT_FALSE(rows[0].nearest_case.empty());
  // The base is the run's machine; a machine that does not fit has no ratio.
  ASSERT_TRUE(rows[0].beside_base.has_value());
  EXPECT_NEAR(rows[0].beside_base->ratio, to_seconds(rows[0].step) / to_seconds(rows[1].step),
              1e-9);
  EXPECT_FALSE(rows[1].beside_base || rows[2].beside_base);
}

TEST_F(Buy, RentIsPriceTimesHours) {
  const std::string only = machine("only");
  BuyRequest request = request_of(only);
  request.tokens = 1e6;
  request.payment = Payment::rent;
  request.prices.machines[only] = priced({}, 2);
  const BuyReport report = buy(config_, request);
  const std::vector<BuyRow>& rows = report.rows;
  EXPECT_NEAR(*rows[0].cost, 2 * 24 * *rows[0].days, 1e-9);
}

TEST_F(Buy, ElasticityOfAComputeBoundStepIsThatOfCompute) {
  const BuyRequest request = request_of(machine("only", 0.05));
  const BuyReport report = buy(config_, request);
  double compute = 0, h2d = 0;
  for (const auto& [resource, value] : report.elasticity) {
    if (resource == "compute") compute = value;
    if (resource == "h2d") h2d = value;
  }
  EXPECT_LT(compute, -0.8);  // 1 % faster products, almost 1 % less time
  EXPECT_NEAR(h2d, 0, 0.05);
  EXPECT_EQ(report.upgrades.size(), 3u);
  for (const Upgrade& upgrade : report.upgrades) {
    EXPECT_TRUE(upgrade.fits);
    EXPECT_GE(*upgrade.speedup, 1 - 1e-9) << upgrade.what;
    ASSERT_TRUE(upgrade.speedup_interval.has_value()) << upgrade.what;
    EXPECT_NEAR(upgrade.speedup_interval->ratio, *upgrade.speedup, 1e-9) << upgrade.what;
  }
}

// One run costs 2 USD/h for some hours; the machine costs 20,000: renting wins until enough runs.
TEST_F(Buy, VerdictComesFirstAndWeighsRentAgainstPrice) {
  const std::string only = machine("only");
  BuyRequest request = request_of(only);
  request.tokens = 1e6;
  request.prices.machines[only] = priced(20000, 2);
  EXPECT_TRUE(buy(config_, request).verdict.front().starts_with("Rent, do not buy"));
  request.prices.machines[only].rent_usd_per_hour = 1e12;
  EXPECT_TRUE(buy(config_, request).verdict.front().starts_with("Buy " + only));
  request.budget_usd = 5;
  EXPECT_TRUE(buy(config_, request).verdict.front().starts_with("Nothing that fits"));
  request.prices.machines.clear();
  EXPECT_THAT(buy(config_, request).verdict.front(),
              testing::StartsWith("What is to be had within 5 USD cannot be said"));
  request.prices = {};
  request.budget_usd.reset();
  EXPECT_NE(buy(config_, request).verdict.back().find("No prices were given"), std::string::npos);
}

TEST_F(Buy, ABudgetIsForTheMachineAndItsOrderUnlessTheMachineIsOwned) {
  BuyRequest request = request_of("rtx-4090");
  request.tokens = 1e9;
  request.prices = part_prices();
  request.budget_usd = 3200;  // The machine, or the order, but not both.
  const auto memory = [](const BuyReport& report) {
    for (const Upgrade& one : report.upgrades) {
      if (one.what.starts_with("+2 DIMMs")) return one;
    }
    return Upgrade{};
  };
  const BuyReport both = buy(config_, request);
  EXPECT_EQ(memory(both).total, 3350);
  EXPECT_EQ(memory(both).within_budget, false);
  // More memory leaves the GPU and its datasheet as they are: what is unsure about it cancels.
  const auto base = std::ranges::find(both.rows, "rtx-4090", &BuyRow::machine);
  ASSERT_NE(base, both.rows.end());
  EXPECT_LT(memory(both).speedup_interval->deviation,
            0.5 * (base->errors.deviation() / base->errors.step));
  EXPECT_FALSE(both.rows.front().owned);
  request.owned = true;
  const BuyReport mine = buy(config_, request);
  EXPECT_EQ(memory(mine).within_budget, true);
  EXPECT_TRUE(mine.verdict.front().starts_with("Use what you have: rtx-4090"));
  for (const BuyRow& row : mine.rows) {
    EXPECT_EQ(row.owned, row.machine == "rtx-4090");
    EXPECT_FALSE(row.owned && (row.cost || row.buy_usd));
  }
}

TEST_F(Buy, SeveralGpusArePlannedWhereTheyCanShareAStep) {
  BuyRequest request;
  config_.machine = "rtx-4090";
  request.machines = {"rtx-4090", "2x-rtx-4090", "8x-h100-sxm", "3x-l40s"};
  request.prices = part_prices();
  const BuyReport report = buy(config_, request);  // Steps of four sequences.
  const auto row = [&](const char* name) {
    return *std::ranges::find(report.rows, name, &BuyRow::machine);
  };
  const BuyRow two = row("2x-rtx-4090");
  EXPECT_TRUE(two.fits);
  EXPECT_EQ(two.devices, 2);
  EXPECT_EQ(two.gpus, 2);
  EXPECT_EQ(two.buy_usd, 3150 + 1600);
  EXPECT_EQ(row("rtx-4090").devices, 1);
  for (const char* name : {"8x-h100-sxm", "3x-l40s"}) {
    EXPECT_FALSE(row(name).fits) << name;
    EXPECT_THAT(row(name).limit, testing::HasSubstr("GPUs cannot share")) << name;
    EXPECT_THAT(row(name).remedy, testing::HasSubstr("batch_size")) << name;
  }
  // A second card is among the orders for one.
  const auto more = std::ranges::find_if(report.upgrades, [](const Upgrade& one) {
    return one.what.starts_with("+1 GPU: a second rtx-4090");
  });
  ASSERT_NE(more, report.upgrades.end());
  EXPECT_EQ(more->price, 1600);
  EXPECT_TRUE(more->setting.ends_with("--devices 2")) << more->setting;
  ASSERT_TRUE(report.devices);
  EXPECT_EQ(report.devices->machine, "2x-rtx-4090");
  EXPECT_GT(report.devices->pay.most_tried, 0);
}

// An instance of three GPUs, which cannot share four sequences, is planned with one.
TEST_F(Buy, AnInstanceIsPlannedWithAllItsGpusWhereTheyCanShareTheSteps) {
  BuyRequest request;
  config_.machine = "rtx-4090";
  Instance cloud{.gpu = "h100-sxm",
                 .gpus = 2,
                 .gib = 512,
                 .vcpus = 64,
                 .usd_per_hour = 8,
                 .date = "2026-01-31",
                 .address = "https://cloud.example"};
  request.prices.instances["two"] = cloud;
  cloud.gpus = 3;
  request.prices.instances["three"] = cloud;
  const std::vector<BuyRow> rows = instance_rows(config_, request);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].machine, "three");
  EXPECT_EQ(rows[0].devices, 1);
  EXPECT_THAT(rows[0].devices_note, testing::HasSubstr("3"));
  EXPECT_EQ(rows[1].gpus, 2);
  // The tiny job may be as fast on one; then that is what the row says.
  EXPECT_EQ(rows[1].devices == 1, !rows[1].devices_note.empty());
}

TEST_F(Buy, TheMachineAskedAboutIsARow) {
  config_.machine = machine("mine");
  const std::string other = machine("other");
  BuyRequest request;
  request.machines = {other};
  EXPECT_EQ(buy(config_, request).rows.size(), 2u);
}

TEST_F(Buy, DoesNotDependOnTheThreads) {
  BuyRequest request;
  request.machines = {"rtx-4090", "h200", "l40s"};
  request.tokens = 1e9;
  config_.machine = "rtx-4090";
  request.threads = 1;
  const std::string one = to_json_text(buy(config_, request));
  request.threads = 3;
  EXPECT_EQ(to_json_text(buy(config_, request)), one);
}

}  // namespace
}  // namespace sluice::planner
