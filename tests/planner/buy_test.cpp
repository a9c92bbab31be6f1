#include "planner/buy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "planner/advice.hpp"
#include "planner/profile_file.hpp"
#include "planner/upgrade_worth.hpp"
#include "sim/error.hpp"
#include "tests/planner/round_machine.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

/// A folder of this test's own, gone afterwards; also the store, so that no calibration is read.
class Buy : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "sluice-buy-").string() + std::string(6, 'X');
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    setenv("SLUICE_HOME", folder_.c_str(), 1);
    std::ofstream(folder_ / "config.json") << config_from_shape(test::tiny_shape());
    config_.model = (folder_ / "config.json").string();
    config_.seq_len = 32;
    config_.batch_size = 4;
    config_.loss_chunk = 32;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string machine(const std::string& name, double factor, std::int64_t hbm) {
    MachineProfile profile = test::round_profile();
    profile.name = name;
    profile.hbm.value = static_cast<double>(hbm);
    for (CurvePoint& point : profile.gemm) point.rate.value *= factor;
    const auto path = folder_ / (name + ".json");
    write_profile(profile, path);
    return path.string();
  }
  std::filesystem::path write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  std::filesystem::path folder_;
  RunConfig config_;
};

/// Rows but resident nodes.
std::vector<BuyRow> machines_of(const BuyReport& report) {
  std::vector<BuyRow> rows;
  for (const BuyRow& row : report.rows) {
    if (row.kind != RowKind::resident_node) rows.push_back(row);
  }
  return rows;
}

TEST_F(Buy, RanksByStepTimeAndKeepsWhatDoesNotFitAsARow) {
  const std::string slow = machine("slow", 1, 1 << 30);
  const std::string fast = machine("fast", 4, 1 << 30);
  const std::string small = machine("small", 8, 4096);
  config_.machine = slow;
  BuyRequest request;
  request.machines = {slow, small, fast};
  request.tokens = 1e6;
  request.days = 1e9;
  request.budget_usd = 10;
  request.prices.machines[fast] = {
      .buy_usd = 20, .rent_usd_per_hour = 1, .date = "2026-01-31", .source = ""};
  const BuyReport report = buy(config_, request);
  const std::vector<BuyRow> rows = machines_of(report);
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
}

TEST_F(Buy, RentIsPriceTimesHours) {
  const std::string only = machine("only", 1, 1 << 30);
  config_.machine = only;
  BuyRequest request;
  request.machines = {only};
  request.tokens = 1e6;
  request.payment = Payment::rent;
  request.prices.machines[only] = {
      .buy_usd = {}, .rent_usd_per_hour = 2, .date = "2026-01-31", .source = ""};
  const BuyReport report = buy(config_, request);
  const std::vector<BuyRow> rows = machines_of(report);
  EXPECT_NEAR(*rows[0].cost, 2 * 24 * *rows[0].days, 1e-9);
}

TEST_F(Buy, ElasticityOfAComputeBoundStepIsThatOfCompute) {
  const std::string only = machine("only", 0.05, 1 << 30);
  config_.machine = only;
  BuyRequest request;
  request.machines = {only};
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
  }
}

TEST_F(Buy, AlwaysComparesARentedNodeAndNeverGuessesItsPrice) {
  const std::string only = machine("only", 1, 1 << 30);
  config_.machine = only;
  BuyRequest request;
  request.machines = {only};
  request.tokens = 1e9;
  request.prices.machines["h100-sxm"] = {
      .buy_usd = {}, .rent_usd_per_hour = 2, .date = "2026-01-31", .source = ""};
  const auto node_of = [](const BuyReport& report) {
    std::vector<BuyRow> nodes;
    for (const BuyRow& row : report.rows) {
      if (row.kind == RowKind::resident_node) nodes.push_back(row);
    }
    return nodes;
  };
  const std::vector<BuyRow> unpriced = node_of(buy(config_, request));
  ASSERT_EQ(unpriced.size(), 1u);
  EXPECT_EQ(unpriced[0].machine, "8x-h100-sxm");
  EXPECT_EQ(unpriced[0].gpus, 8);
  EXPECT_FALSE(unpriced[0].rent_usd.has_value());
  request.prices.machines["8x-b200"] = {
      .buy_usd = {}, .rent_usd_per_hour = 40, .date = "2026-01-31", .source = ""};
  EXPECT_EQ(node_of(buy(config_, request)).size(), 2u);
}

// One run costs 2 USD/h for some hours; the machine costs 20,000: renting wins until enough runs.
TEST_F(Buy, VerdictComesFirstAndWeighsRentAgainstPrice) {
  const std::string only = machine("only", 1, 1 << 30);
  config_.machine = only;
  BuyRequest request;
  request.machines = {only};
  request.tokens = 1e6;
  request.prices.machines[only] = {
      .buy_usd = 20000, .rent_usd_per_hour = 2, .date = "2026-01-31", .source = ""};
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

TEST(Verdict, AddsNothingThatIsDearerThanTheBudget) {
  BuyReport report;
  report.base = "mine";
  BuyRow row;
  row.machine = "mine";
  row.fits = true;
  report.rows = {row};
  Upgrade dear{.what = "a better card"};
  dear.fits = true;
  dear.speedup = 2;
  dear.price = 9000;
  report.upgrades = {dear};
  BuyRequest request;
  const auto said = [&] {
    std::string all;
    for (const std::string& sentence : verdict(report, request)) all += sentence + "\n";
    return all;
  };
  EXPECT_NE(said().find("a better card"), std::string::npos);
  request.budget_usd = 5000;
  EXPECT_NE(said().find("nothing: no order"), std::string::npos);
  EXPECT_NE(said().find("within 5,000 USD"), std::string::npos);
}

/// Prices of parts with which an rtx-4090 costs 3,150 USD and two more modules of memory 200.
PriceList part_prices() {
  PriceList prices;
  const auto price = [&](const std::string& part, double usd) {
    prices.parts[part] = {
        .buy_usd = usd, .rent_usd_per_hour = {}, .date = "2026-01-31", .source = ""};
  };
  price("gpu rtx-4090", 1600);
  price("cpu ryzen-9-9950x", 1200);
  price("64 GiB DDR5-5600", 100);
  price("ssd gen4", 150);
  return prices;
}

TEST(UpgradeWorth, WhoOwnsNothingPaysForMachineAndOrder) {
  const Composition now = find_composition("rtx-4090").value();
  Composition more = now;
  more.ram.count = 4;
  BuyRequest request;
  request.prices = part_prices();
  Upgrade upgrade;
  add_price(upgrade, now, more, request);
  EXPECT_EQ(upgrade.price, 200);
  EXPECT_EQ(upgrade.total, 3150 + 200);
  EXPECT_EQ(asked_of_budget(upgrade, request), 3350);
  request.owned = true;
  Upgrade mine;
  add_price(mine, now, more, request);
  EXPECT_FALSE(mine.total.has_value());
  EXPECT_EQ(asked_of_budget(mine, request), 200);
  // A new part without a price: neither sum is known.
  more.gpu = "rtx-5090";
  Upgrade unknown;
  request.owned = false;
  add_price(unknown, now, more, request);
  EXPECT_FALSE(unknown.price || unknown.total);
  // A machine with a price of its own.
  request.prices.machines["rtx-4090"].buy_usd = 5000;
  request.prices.parts.erase("ssd gen4");
  more.gpu = now.gpu;
  Upgrade whole;
  add_price(whole, now, more, request);
  EXPECT_EQ(whole.total, 5200);
}

TEST_F(Buy, ABudgetIsForTheMachineAndItsOrderUnlessTheMachineIsOwned) {
  config_.machine = "rtx-4090";
  BuyRequest request;
  request.machines = {"rtx-4090"};
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
  EXPECT_FALSE(both.rows.front().owned);
  request.owned = true;
  const BuyReport mine = buy(config_, request);
  EXPECT_EQ(memory(mine).within_budget, true);
  EXPECT_TRUE(mine.verdict.front().starts_with("Use what you have: rtx-4090"));
  for (const BuyRow& row : machines_of(mine)) {
    EXPECT_EQ(row.owned, row.machine == "rtx-4090");
    EXPECT_FALSE(row.owned && (row.cost || row.buy_usd));
  }
}

TEST_F(Buy, TheMachineAskedAboutIsARow) {
  config_.machine = machine("mine", 1, 1 << 30);
  const std::string other = machine("other", 1, 1 << 30);
  BuyRequest request;
  request.machines = {other};
  EXPECT_EQ(machines_of(buy(config_, request)).size(), 2u);
}

TEST(Verdict, SaysWhatAnOrderCostsWithTheMachine) {
  BuyReport report;
  report.base = "mine";
  BuyRow row;
  row.machine = "mine";
  row.fits = true;
  report.rows = {row};
  Upgrade order{.what = "+2 DIMMs"};
  order.fits = true;
  order.speedup = 1.5;
  order.price = 200;
  order.total = 3350;
  report.upgrades = {order};
  BuyRequest request;
  request.budget_usd = 3200;
  const auto said = [&] {
    std::string all;
    for (const std::string& sentence : verdict(report, request)) all += sentence + "\n";
    return all;
  };
  EXPECT_THAT(said(), testing::HasSubstr("within 3,200 USD for machine and order together; beyond "
                                         "it, +2 DIMMs: 1.50 times as fast for 200 USD (3,350 USD "
                                         "with the machine)"));
  request.budget_usd = 4000;
  EXPECT_THAT(said(), testing::HasSubstr("What to add to mine: +2 DIMMs"));
}

TEST(Verdict, SaysWhereARentedNodeMayCostLess) {
  BuyReport report;
  BuyRow alone;
  alone.machine = report.base = "alone";
  alone.fits = true;
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
  const auto said = [&] {
    std::string all;
    for (const std::string& sentence : verdict(report, {})) all += sentence + "\n";
    return all;
  };
  // 288 to 576 USD against 288.
  EXPECT_THAT(said(), testing::HasSubstr("24.0 hours, 288 USD to 576 USD."));
  report.rows[0].rent_usd = 144;
  report.rows[0].rent_usd_per_hour = 12;
  EXPECT_THAT(said(), testing::HasSubstr("144 USD to 288 USD: cheaper, too."));
  report.rows[1].rent_usd = 200;
  EXPECT_THAT(said(), testing::HasSubstr("144 USD to 288 USD: perhaps cheaper, too."));
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

TEST_F(Buy, AMachineIsTheSumOfItsPartsWhereEachHasAPrice) {
  const auto file = write("parts.yaml", R"(parts:
  gpu rtx-4090: {buy_usd: 1600, date: 2026-02-01}
  cpu ryzen-9-9950x: {buy_usd: 1000, date: 2026-01-01}
  64 GiB DDR5-5600: {buy_usd: 200, date: 2026-02-01}
  ssd gen4: {buy_usd: 150, date: 2026-02-01}
)");
  const PriceList prices = read_prices(file);
  EXPECT_EQ(prices.of("rtx-4090").buy_usd, 1600 + 1000 + 2 * 200 + 150);
  EXPECT_EQ(prices.of("rtx-4090").date, "2026-01-01");
  EXPECT_EQ(prices.of("rtx-4090 + 4x64 GiB DDR5-5600").buy_usd, 1600 + 1000 + 4 * 200 + 150);
  EXPECT_FALSE(prices.of("rtx-5090").buy_usd.has_value());
  const Composition now = find_composition("rtx-4090").value();
  // Two modules more; a whole new kit of another size has no price here.
  EXPECT_EQ(prices.change(now, find_composition("rtx-4090 + 4x64 GiB DDR5-5600").value()), 400);
  EXPECT_FALSE(prices.change(now, find_composition("rtx-4090 + 2x48 GiB DDR5-5600").value()));
  EXPECT_THROW((void)read_prices(write("e.yaml", "part: {x: {buy_usd: 1, date: d}}")), BadRequest);
}

TEST_F(Buy, PricesNeedADateAndKnownKeys) {
  const auto good =
      write("good.json", R"({"prices": {"h200": {"buy_usd": 1, "date": "2026-01-31"}}})");
  EXPECT_EQ(read_prices(good).machines.at("h200").buy_usd, 1);
  EXPECT_THROW((void)read_prices(write("a.yaml", "prices: {h200: {buy_usd: 1}}")), BadRequest);
  EXPECT_THROW((void)read_prices(write("b.yaml", "prices: {h200: {buy: 1, date: 2026-01-31}}")),
               BadRequest);
  EXPECT_THROW((void)read_prices(write("c.yaml", "prices: {h200: {buy_usd: -1, date: x}}")),
               BadRequest);
  EXPECT_THROW((void)read_prices(write("d.yaml", "h200: 1")), BadRequest);
  const auto refusal = [&](const std::string& text) {
    try {
      (void)read_prices(write("names.yaml", text));
    } catch (const BadRequest& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal("prices: {rtx-409: {buy_usd: 1, date: d}}"),
              testing::AllOf(testing::HasSubstr("prices.rtx-409"), testing::HasSubstr("rtx-4090")));
  EXPECT_THAT(refusal("parts: {gpu rtx-409: {buy_usd: 1, date: d}}"),
              testing::HasSubstr("did you mean \"rtx-4090\""));
  EXPECT_THAT(refusal("parts: {64 GB: {buy_usd: 1, date: d}}"), testing::HasSubstr("is no part"));
  EXPECT_EQ(refusal("prices: {8x-b200: {rent_usd_per_hour: 1, date: d}, mine.json: {buy_usd: 2, "
                    "date: d}, rtx-4090 + 4x64 GiB DDR5-5600: {buy_usd: 3, date: d}}"),
            "");
  EXPECT_THROW((void)read_prices(folder_ / "absent.yaml"), BadRequest);
}

}  // namespace
}  // namespace sluice::planner
