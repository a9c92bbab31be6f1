#include "planner/buy.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "planner/profile_file.hpp"
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
  request.prices[fast] = {
      .buy_usd = 20, .rent_usd_per_hour = 1, .date = "2026-01-31", .source = ""};
  const BuyReport report = buy(config_, request);
  ASSERT_EQ(report.rows.size(), 3u);
  EXPECT_EQ(report.rows[0].machine, fast);
  EXPECT_EQ(report.rows[1].machine, slow);
  EXPECT_EQ(report.rows[2].machine, small);
  EXPECT_FALSE(report.rows[2].fits);
  EXPECT_NE(report.rows[2].limit.find("hbm"), std::string::npos);
  EXPECT_NEAR(*report.rows[0].days, 1e6 / report.rows[0].tokens_per_s / 86400, 1e-9);
  EXPECT_EQ(report.rows[0].cost, 20);
  EXPECT_EQ(report.rows[0].within_budget, false);
  EXPECT_EQ(report.rows[0].within_days, true);
  EXPECT_FALSE(report.rows[1].price.has_value());  // Never guessed.
}

TEST_F(Buy, RentIsPriceTimesHours) {
  const std::string only = machine("only", 1, 1 << 30);
  config_.machine = only;
  BuyRequest request;
  request.machines = {only};
  request.tokens = 1e6;
  request.payment = Payment::rent;
  request.prices[only] = {
      .buy_usd = {}, .rent_usd_per_hour = 2, .date = "2026-01-31", .source = ""};
  const BuyReport report = buy(config_, request);
  EXPECT_NEAR(*report.rows[0].cost, 2 * 24 * *report.rows[0].days, 1e-9);
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

TEST_F(Buy, PricesNeedADateAndKnownKeys) {
  const auto good =
      write("good.json", R"({"prices": {"h200": {"buy_usd": 1, "date": "2026-01-31"}}})");
  EXPECT_EQ(read_prices(good).at("h200").buy_usd, 1);
  EXPECT_THROW((void)read_prices(write("a.yaml", "prices: {h200: {buy_usd: 1}}")), BadRequest);
  EXPECT_THROW((void)read_prices(write("b.yaml", "prices: {h200: {buy: 1, date: 2026-01-31}}")),
               BadRequest);
  EXPECT_THROW((void)read_prices(write("c.yaml", "prices: {h200: {buy_usd: -1, date: x}}")),
               BadRequest);
  EXPECT_THROW((void)read_prices(write("d.yaml", "h200: 1")), BadRequest);
  EXPECT_THROW((void)read_prices(folder_ / "absent.yaml"), BadRequest);
}

}  // namespace
}  // namespace sluice::planner
