#include <gtest/gtest.h>

#include <set>

#include "profiler/ablation/ablation_files.hpp"
#include "profiler/ablation/cells.hpp"
#include "profiler/ablation/experiment.hpp"
#include "profiler/ablation/interval_of_median.hpp"
#include "sim/error.hpp"

namespace sluice::profiler {
namespace {

const char* const kText = R"(
name: both
question: "Why?"
baseline: {model: bytes-2m, machine: h200, seq_len: 64, batch_size: 4, optimizer: {clip: 0.5}}
factors:
  buffers: {path: plan.weight_buffers, values: [2, 1, 4]}
  term:
    levels:
      whole: {}
      free of links: {term.contention: off, optimizer.betas: [0.8, 0.9]}
design: full
steps: 5
)";

TEST(Ablation, AnExperimentReadsBackFromWhatItWrites) {
  const Experiment read = experiment_from_yaml(kText, "text");
  const std::string written = to_yaml(read);
  const Experiment again = experiment_from_yaml(written, "written");
  EXPECT_EQ(to_yaml(again), written);
  EXPECT_EQ(again.steps, 5);
  EXPECT_EQ(again.repeats, 3);
  EXPECT_EQ(again.baseline.optimizer.clip, 0.5);
  ASSERT_EQ(again.factors.size(), 2u);
  EXPECT_EQ(again.factors[1].levels[1].name, "free of links");
}

TEST(Ablation, CellsHaveTheirLevelsSettings) {
  const Experiment experiment = experiment_from_yaml(kText, "text");
  const std::vector<Cell> cells = cells_of(experiment, "models");
  ASSERT_EQ(cells.size(), 6u);
  EXPECT_EQ(cells[3].name(experiment), "buffers=1, term=free of links");
  EXPECT_EQ(cells[3].config.plan_overrides.at("weight_buffers"), "1");
  EXPECT_EQ(cells[3].config.optimizer.beta1, 0.8);
  EXPECT_FALSE(cells[3].config.terms.contention);
  EXPECT_TRUE(cells[3].config.terms.latency);
  EXPECT_TRUE(cells[2].config.terms.contention);
  EXPECT_EQ(cells[2].config.optimizer.beta1, experiment.baseline.optimizer.beta1);
}

TEST(Ablation, AMachinesCommaStaysInItsField) {
  const Experiment experiment = experiment_from_yaml(kText, "text");
  CellResult result;
  result.levels = {"2", "whole"};
  result.status = CellStatus::refused;
  result.machine = "NVIDIA H200, Intel Xeon";
  const std::string text = cells_csv(experiment, {result});
  EXPECT_NE(text.find(",\"NVIDIA H200, Intel Xeon\","), std::string::npos) << text;
}

TEST(Ablation, SharesHoldEachCellOnce) {
  for (std::size_t index = 0; index < 20; ++index) {
    int held = 0;
    for (const char* share : {"1/3", "2/3", "3/3"}) held += parse_share(share).holds(index) ? 1 : 0;
    EXPECT_EQ(held, 1) << index;
  }
  for (const char* bad : {"", "3", "0/3", "4/3", "a/b", "1/0"}) {
    EXPECT_THROW(static_cast<void>(parse_share(bad)), BadRequest) << bad;
  }
}

TEST(IntervalOfMedian, HoldsTheMedianAndRepeats) {
  const std::vector<std::vector<double>> groups = {
      {1.0, 1.1, 1.2}, {1.3, 1.4, 1.5}, {0.9, 1.0, 1.1}};
  const MedianInterval interval = bootstrap_median(groups, 7);
  EXPECT_DOUBLE_EQ(interval.median, 1.1);
  EXPECT_LE(interval.low, interval.median);
  EXPECT_GE(interval.high, interval.median);
  EXPECT_GE(interval.low, 0.9);
  EXPECT_LE(interval.high, 1.5);
  const MedianInterval again = bootstrap_median(groups, 7);
  EXPECT_EQ(interval.low, again.low);
  EXPECT_EQ(interval.high, again.high);
}

// Groups that differ are what makes a median uncertain, however many numbers each has.
TEST(IntervalOfMedian, IsWideWhereGroupsDiffer) {
  const std::vector<double> low(50, 1.0), high(50, 2.0);
  const std::vector<std::vector<double>> apart = {low, high, low, high};
  std::vector<double> mixed;
  for (int i = 0; i < 100; ++i) mixed.push_back(i % 2 == 0 ? 1.0 : 1.02);
  const std::vector<std::vector<double>> one = {mixed};
  EXPECT_DOUBLE_EQ(bootstrap_median(apart, 1).high - bootstrap_median(apart, 1).low, 1.0);
  EXPECT_LE(bootstrap_median(one, 1).high - bootstrap_median(one, 1).low, 0.02 + 1e-12);
  EXPECT_EQ(bootstrap_median({}, 1).median, 0);
}

TEST(IntervalOfMedian, NamesNumbersThatStandApart) {
  const std::vector<double> numbers = {1.0, 1.1, 1.05, 1.02, 5.0, 1.07};
  const std::vector<bool> apart = outliers(numbers);
  EXPECT_EQ(apart, (std::vector<bool>{false, false, false, false, true, false}));
  EXPECT_TRUE(outliers({}).empty());
}

}  // namespace
}  // namespace sluice::profiler
