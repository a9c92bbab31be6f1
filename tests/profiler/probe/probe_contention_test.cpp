// Tests of the fit of the contention model on fabricated grids: the parameters put in come out, and
// a machine that no parameters describe is reported as one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "profiler/probe/contention_fit.hpp"
#include "profiler/probe/contention_model.hpp"
#include "sim/error.hpp"

namespace sluice::profiler {
namespace {

using planner::Fact;
using planner::MachineProfile;

Fact fact(double value) {
  return {.value = value,
          .deviation = 0.005 * value,
          .count = 3,
          .source = planner::Source::measured,
          .note = {}};
}

/// A server: 55 GB/s each way, host memory that 14 threads of AdamW fill.
MachineProfile server() {
  MachineProfile machine;
  machine.name = "server";
  machine.device = planner::DeviceKind::cuda;
  machine.cores = fact(16);
  machine.h2d = machine.d2h = planner::in_unit<BytesPerSecond>(fact(55e9));
  machine.dram = planner::in_unit<BytesPerSecond>(fact(165e9));
  machine.update_dram = fact(28);
  machine.h2d_dram = fact(0.63);
  machine.d2h_dram = fact(0.86);
  machine.h2d_weight = fact(0.9);
  machine.d2h_weight = fact(2.5);
  machine.update = {{2, fact(1.1e9)},  {4, fact(2.15e9)}, {6, fact(3.15e9)}, {8, fact(4.05e9)},
                    {10, fact(4.7e9)}, {12, fact(5.2e9)}, {14, fact(5.6e9)}};
  machine.interference = {{planner::LaneKind::cpu, planner::LaneKind::h2d, fact(0.98)},
                          {planner::LaneKind::cpu, planner::LaneKind::d2h, fact(0.92)},
                          {planner::LaneKind::h2d, planner::LaneKind::d2h, fact(0.944)},
                          {planner::LaneKind::d2h, planner::LaneKind::h2d, fact(0.93)},
                          {planner::LaneKind::compute, planner::LaneKind::h2d, fact(0.98)}};
  return machine;
}

/// Rates of `machine` on the grid of 0 to 14 threads and all copies, times exp(noise).
ContentionGrid grid_of(const MachineProfile& machine, double noise = 0) {
  const planner::ProfileCostModel model(machine, {});
  std::mt19937 random(11);
  std::normal_distribution<double> normal(0, 1);
  ContentionGrid grid;
  for (std::int64_t threads = 0; threads <= 14; threads += 2) {
    for (const Copies copies : {Copies::none, Copies::h2d, Copies::d2h, Copies::both}) {
      if (threads == 0 && copies == Copies::none) continue;
      const ContentionRates rates = contention_rates(model, threads, copies);
      const auto noisy = [&](double rate) { return fact(rate * std::exp(noise * normal(random))); };
      grid.push_back({threads, copies, noisy(rates.update), noisy(rates.h2d), noisy(rates.d2h)});
    }
  }
  return grid;
}

double factor(const MachineProfile& machine, planner::LaneKind on, planner::LaneKind from) {
  for (const auto& each : machine.interference) {
    if (each.on == on && each.from == from) return each.factor.value;
  }
  return 0;
}

/// A profile before the fit.
MachineProfile blank() {
  MachineProfile machine;
  machine.name = "blank";
  machine.cores = fact(16);
  machine.interference = {{planner::LaneKind::compute, planner::LaneKind::h2d, fact(0.98)},
                          {planner::LaneKind::cpu, planner::LaneKind::d2h, fact(0.5)}};
  return machine;
}

TEST(ContentionModel, SharesFullMemoryByWeightAndLeavesTheRestToWhoCanUseIt) {
  MachineProfile machine = server();
  machine.interference.clear();
  machine.h2d_weight = fact(1);
  machine.update = {{14, fact(5.5e9)}};
  machine.h2d_dram = fact(1);
  // Both fall to one share s of their own rates: s (5.5 x 28 + 55) = 165, so s = 165 / 209.
  const ContentionRates rates =
      contention_rates(planner::ProfileCostModel(machine, {}), 14, Copies::h2d);
  EXPECT_NEAR(rates.update, 5.5e9 * 165 / 209, 1);
  EXPECT_NEAR(rates.h2d, 55e9 * 165 / 209, 1);
  EXPECT_EQ(rates.d2h, 0);
  // With weight 4 copies keep their rate; the update has what is left: (165 - 55) / 28.
  machine.h2d_weight = fact(4);
  const ContentionRates firm =
      contention_rates(planner::ProfileCostModel(machine, {}), 14, Copies::h2d);
  EXPECT_NEAR(firm.h2d, 55e9, 1);
  EXPECT_NEAR(firm.update, 110e9 / 28, 1);
}

TEST(ContentionModel, NothingRunsWhereNothingIsAskedFor) {
  const ContentionRates rates =
      contention_rates(planner::ProfileCostModel(server(), {}), 0, Copies::none);
  EXPECT_EQ(rates.update, 0);
  EXPECT_EQ(rates.h2d, 0);
  EXPECT_EQ(rates.d2h, 0);
}

TEST(ContentionModel, InterferenceLowersCapsOfLanesThatRunTogether) {
  const planner::ProfileCostModel model(server(), {});
  EXPECT_NEAR(contention_rates(model, 2, Copies::d2h).update, 0.92 * 1.1e9, 1);
  EXPECT_NEAR(contention_rates(model, 2, Copies::both).update, 0.98 * 0.92 * 1.1e9, 1);
  EXPECT_NEAR(contention_rates(model, 0, Copies::both).h2d, 0.944 * 55e9, 1);
}

TEST(ContentionFit, RecoversTheMachineBehindAnExactGrid) {
  const ContentionFit fit = fit_contention(blank(), grid_of(server()));
  EXPECT_NEAR(fit.profile.h2d.value.count(), 55e9, 1);
  EXPECT_NEAR(fit.profile.dram.value.count(), 165e9, 0.02 * 165e9);
  EXPECT_NEAR(fit.profile.h2d_dram.value, 0.63, 0.05);
  EXPECT_NEAR(fit.profile.d2h_dram.value, 0.86, 0.05);
  EXPECT_NEAR(factor(fit.profile, planner::LaneKind::cpu, planner::LaneKind::d2h), 0.92, 0.01);
  EXPECT_NEAR(factor(fit.profile, planner::LaneKind::h2d, planner::LaneKind::d2h), 0.944, 0.01);
  EXPECT_NEAR(factor(fit.profile, planner::LaneKind::d2h, planner::LaneKind::h2d), 0.93, 0.01);
  for (const RateResiduals& of : residuals(fit.fitted)) {
    ASSERT_TRUE(of.worst);
    EXPECT_LT(std::abs(of.worst->error()), 0.01) << to_string(of.rate);
  }
  EXPECT_TRUE(fit.holds()) << residuals_text(fit);
}

TEST(ContentionFit, KeepsWhatIsNotItsBusinessAndReplacesWhatIs) {
  const ContentionFit fit = fit_contention(blank(), grid_of(server()));
  EXPECT_EQ(factor(fit.profile, planner::LaneKind::compute, planner::LaneKind::h2d), 0.98);
  EXPECT_GT(factor(fit.profile, planner::LaneKind::cpu, planner::LaneKind::d2h),
            0.8);  // it was 0.5
  EXPECT_EQ(fit.profile.update.size(), 7u);
  EXPECT_EQ(fit.profile.update_dram.value, 28);
  EXPECT_EQ(fit.profile.dram.count, 31);
  EXPECT_GT(fit.profile.h2d_weight.value, 0);
}

TEST(ContentionFit, HoldsUnderTheNoiseOfAMeasurement) {
  const ContentionFit fit = fit_contention(blank(), grid_of(server(), 0.01));
  EXPECT_TRUE(fit.holds()) << residuals_text(fit);
  EXPECT_NEAR(fit.profile.dram.value.count(), 165e9, 0.04 * 165e9);
  EXPECT_GT(fit.profile.dram.deviation, BytesPerSecond(0));
}

TEST(ContentionFit, LearnsThatManyThreadsTakeOfCopiesFromTheDevice) {
  // Up to eight threads cost such copies nothing, fourteen a tenth, while memory has room.
  MachineProfile machine = server();
  machine.dram = planner::in_unit<BytesPerSecond>(fact(500e9));
  machine.interference.push_back({planner::LaneKind::d2h, planner::LaneKind::cpu, fact(1), 8});
  machine.interference.push_back({planner::LaneKind::d2h, planner::LaneKind::cpu, fact(0.9), 14});
  const ContentionFit fit = fit_contention(blank(), grid_of(machine));
  EXPECT_TRUE(fit.holds()) << residuals_text(fit);
  const planner::ProfileCostModel model(fit.profile, {});
  for (const auto& [threads, share] : {std::pair{4, 1.0}, {8, 1.0}, {14, 0.9}}) {
    EXPECT_NEAR(contention_rates(model, threads, Copies::d2h).d2h, share * 55e9, 0.01 * 55e9)
        << threads << " threads";
  }
}

/// `machine` with updates that alone reach each t / (1 + (t / knee)^p)^(1 / p).
MachineProfile saturating(MachineProfile machine, double each, double knee, double p) {
  for (auto& [threads, rate] : machine.update) {
    const auto t = static_cast<double>(threads);
    rate = fact(each * t / std::pow(1 + std::pow(t / knee, p), 1 / p));
  }
  return machine;
}

TEST(ContentionFit, LearnsOneUpdateRateFromAllPointsWhereRatesSaturate) {
  const MachineProfile machine = saturating(server(), 0.6e9, 9, 2);
  ContentionGrid grid = grid_of(machine);
  for (ContentionPoint& point : grid) {
    if (point.threads == 8 && point.copies == Copies::none)
      point.update = fact(1.06 * point.update.value);
  }
  // One of 28 points is off by 6 %: the curve that the others say moves little.
  const ContentionFit fit = fit_contention(blank(), grid);
  const double truth = machine.update.at(8).value;
  EXPECT_NEAR(fit.profile.update.at(8).value, truth, 0.015 * truth);
}

TEST(ContentionFit, KeepsMeasuredUpdateRatesThatDoNotSaturate) {
  MachineProfile machine = server();
  // More threads are slower, as on half of a processor's cores: no curve of saturation.
  machine.update = {{2, fact(3e9)},  {4, fact(5e9)},    {6, fact(5.5e9)}, {8, fact(4.2e9)},
                    {10, fact(3e9)}, {12, fact(2.4e9)}, {14, fact(2e9)}};
  const ContentionFit fit = fit_contention(blank(), grid_of(machine));
  for (const auto& [threads, rate] : machine.update) {
    EXPECT_EQ(fit.profile.update.at(threads).value, rate.value) << threads;
  }
}

TEST(ContentionFit, IsTheSameEveryTime) {
  const ContentionGrid grid = grid_of(server(), 0.01);
  EXPECT_EQ(planner::profile_hash(fit_contention(blank(), grid).profile),
            planner::profile_hash(fit_contention(blank(), grid).profile));
}

TEST(ContentionFit, ReportsTheWorstPointOfAMachineThatNoParametersDescribe) {
  ContentionGrid grid = grid_of(server());
  for (ContentionPoint& point : grid) {
    if (point.threads == 6 && point.copies == Copies::h2d) point.update = fact(1.5e9);
  }
  const ContentionFit fit = fit_contention(blank(), grid);
  EXPECT_FALSE(fit.holds());
  const RateResiduals update = residuals(fit.held_out).front();
  ASSERT_TRUE(update.worst);
  EXPECT_EQ(update.worst->threads, 6);
  EXPECT_EQ(update.worst->copies, Copies::h2d);
  EXPECT_GT(update.worst->error(), 0.5);
  EXPECT_NE(residuals_text(fit).find("beyond the target"), std::string::npos);
  const std::string worst = misses_text(fit, 1);
  EXPECT_NE(worst.find("update   6 threads, copies h2d"), std::string::npos) << worst;
  EXPECT_EQ(std::count(worst.begin(), worst.end(), '\n'), 1);
  EXPECT_TRUE(misses_text(fit, 0).empty());
}

TEST(ContentionFit, ChecksEveryPointThatHalvesDoNotShareOnce) {
  const ContentionFit fit = fit_contention(blank(), grid_of(server()));
  // 7 thread counts: 5 interior lone updates, and 2 + 2 + 3 rates with copies.
  EXPECT_EQ(fit.held_out.size(), 5u + 7u * 7u);
  EXPECT_EQ(fit.fitted.size(), 4u + 7u + 7u * 7u);  // and what runs without the optimizer
}

TEST(ContentionFit, RefusesGridsThatCannotBeFitted) {
  ContentionGrid no_copies = grid_of(server());
  std::erase_if(no_copies, [](const ContentionPoint& point) { return point.threads == 0; });
  EXPECT_THROW(fit_contention(blank(), no_copies), BadRequest);
  ContentionGrid two_counts = grid_of(server());
  std::erase_if(two_counts, [](const ContentionPoint& point) { return point.threads > 4; });
  EXPECT_THROW(fit_contention(blank(), two_counts), BadRequest);
  EXPECT_THROW(fit_contention(blank(), {}), BadRequest);
}

TEST(Residuals, OfNothingHold) {
  for (const RateResiduals& of : residuals({})) {
    EXPECT_EQ(of.count, 0u);
    EXPECT_FALSE(of.worst);
    EXPECT_TRUE(of.holds());
  }
}

TEST(ContentionGridFile, GivesBackWhatWasWritten) {
  const ContentionGrid grid = grid_of(server(), 0.01);
  const ContentionGrid read = contention_grid_from_json(to_json_text(grid), "grid.json");
  ASSERT_EQ(read.size(), grid.size());
  EXPECT_EQ(to_json_text(read), to_json_text(grid));
  EXPECT_EQ(read[5].h2d.value, grid[5].h2d.value);
}

TEST(ContentionGridFile, NamesWhatIsWrong) {
  const auto refusal = [](const std::string& text) {
    try {
      (void)contention_grid_from_json(text, "grid.json");
    } catch (const BadRequest& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(refusal(R"({"schema": "other", "points": []})").find("schema"), std::string::npos);
  EXPECT_NE(refusal(R"({"schema": "sluice/contention/1",
                        "points": [{"threads": 2, "copies": "none"}]})")
                .find("update_per_s"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"schema": "sluice/contention/1",
                        "points": [{"threads": 0, "copies": "down"}]})")
                .find("copies"),
            std::string::npos);
}

}  // namespace
}  // namespace sluice::profiler
