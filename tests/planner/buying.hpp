// Fixture for tests of buying, a folder with a small model and machine files; and prices of parts.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "planner/buying/advice.hpp"
#include "planner/buying/report.hpp"
#include "planner/machines/profile_file.hpp"
#include "tests/planner/round_machine.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner::test {

/// A folder of this test's own, removed afterwards. It is also the store, so that no calibration is
/// read.
class Buying : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "sluice-buy-").string() + std::string(6, 'X');
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    setenv("SLUICE_HOME", folder_.c_str(), 1);
    std::ofstream(folder_ / "config.json") << config_from_shape(tiny_shape());
    config_.model = (folder_ / "config.json").string();
    config_.seq_len = 32;
    config_.batch_size = 4;
    config_.loss_chunk = 32;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// Writes a machine file and returns its path: the round machine with matrix products `factor`
  /// times as fast and `hbm` bytes of HBM.
  std::string machine(const std::string& name, double factor = 1, std::int64_t hbm = 1 << 30) {
    MachineProfile profile = round_profile();
    profile.name = name;
    profile.hbm.value = static_cast<double>(hbm);
    for (ProductPoint& point : profile.gemm) point.rate.value = factor * point.rate.value;
    const auto path = folder_ / (name + ".json");
    write_profile(profile, path);
    return path.string();
  }
  /// Request for a run on `machine`, which is the only one to rank.
  BuyRequest request_of(const std::string& machine) {
    config_.machine = machine;
    BuyRequest request;
    request.machines = {machine};
    return request;
  }
  std::filesystem::path write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  std::filesystem::path folder_;
  RunConfig config_;
};

/// Text of the report's verdict with one sentence a line.
inline std::string said(const BuyReport& report, const BuyRequest& request) {
  std::string all;
  for (const std::string& sentence : verdict(report, request)) all += sentence + "\n";
  return all;
}

/// A dated price in US dollars.
inline Price priced(std::optional<double> buy, std::optional<double> rent_per_hour = {}) {
  return {.buy_usd = buy, .rent_usd_per_hour = rent_per_hour, .date = "2026-01-31", .source = ""};
}

/// Prices of parts with which an rtx-4090 costs 3,150 USD, and two more memory modules 200 USD.
inline PriceList part_prices() {
  PriceList prices;
  prices.parts["gpu rtx-4090"] = priced(1600);
  prices.parts["cpu ryzen-9-9950x"] = priced(1200);
  prices.parts["64 GiB DDR5-5600"] = priced(100);
  prices.parts["ssd gen4"] = priced(150);
  return prices;
}

}  // namespace sluice::planner::test
