// Tests of what the probe derives from rates measured together: the grid, factors, thread counts.
// No GPU.
#include <gtest/gtest.h>

#include <cmath>

#include "profiler/probe/curves.hpp"
#include "profiler/probe/load_mix_rates.hpp"

namespace sluice::profiler {
namespace {

LoadMixSamples sample(const LoadMix& mix, double update, double h2d, double d2h, double products) {
  const auto samples = [](double value) { return value > 0 ? Samples{value} : Samples{}; };
  return {mix, samples(update), samples(h2d), samples(d2h), samples(products)};
}

TEST(LoadMixes, OfTheGridAreAllCopiesOnAllThreadsAndCopiesAlone) {
  const auto mixes = contention_load_mixes({2, 4, 6});
  EXPECT_EQ(mixes.size(), 3u + 3u * 4u);
  EXPECT_EQ(product_load_mixes({14}).size(), 4u + 4u);
  for (const LoadMix& mix : mixes) {
    EXPECT_TRUE(mix.threads > 0 || mix.copies != Copies::none);
    EXPECT_EQ(mix.products, Products::none);
  }
}

TEST(ContentionThreads, AreEvenAndLeaveTwoCoresOverWhereThereAreMany) {
  EXPECT_EQ(contention_threads(16), (std::vector<std::int64_t>{2, 4, 6, 8, 10, 12, 14}));
  EXPECT_EQ(contention_threads(64).back(), 14);
  EXPECT_EQ(contention_threads(8), (std::vector<std::int64_t>{2, 4, 6}));
  EXPECT_EQ(contention_threads(4), (std::vector<std::int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(contention_threads(0), (std::vector<std::int64_t>{1}));
}

TEST(ContentionGrid, HoldsWhatRanWithoutProducts) {
  const ContentionGrid grid =
      contention_grid({sample({0, Copies::h2d, Products::none}, 0, 55e9, 0, 0),
                       sample({2, Copies::both, Products::none}, 1e9, 50e9, 49e9, 0),
                       sample({2, Copies::both, Products::run}, 1e9, 50e9, 49e9, 7e14)});
  ASSERT_EQ(grid.size(), 2u);
  EXPECT_EQ(grid[0].h2d.value, 55e9);
  EXPECT_EQ(grid[0].update.value, 0);
  EXPECT_EQ(grid[1].update.value, 1e9);
  EXPECT_EQ(grid[1].update.count, 1);
}

TEST(ContentionGrid, HasTheUsualRateOfItsRoundsAndKeepsThem) {
  LoadMixSamples each = sample({2, Copies::h2d, Products::none}, 1, 1, 0, 0);
  each.update = {1.0e9, 1.2e9, 1.0e9, 1.2e9, 0.1e9};  // two speeds, and one repetition disturbed
  const ContentionGrid grid = contention_grid({each});
  EXPECT_NEAR(grid[0].update.value, (1.0e9 + 1.0e9 + 1.2e9) / 3, 1);
  EXPECT_EQ(grid[0].update.count, 5);
  EXPECT_EQ(grid[0].repetitions.update, each.update);
  const ContentionGrid again = contention_grid_from_json(to_json_text(grid), "grid.json");
  EXPECT_EQ(again[0].repetitions.update, each.update);
  EXPECT_EQ(again[0].repetitions.h2d, each.h2d);
  EXPECT_TRUE(again[0].repetitions.d2h.empty());
}

TEST(ContentionGrid, OfFewRoundsLeavesOutThoseThatSomethingElseSlowed) {
  LoadMixSamples each = sample({0, Copies::both, Products::none}, 0, 1, 1, 0);
  each.h2d = {44e9, 22e9};
  each.d2h = {49e9, 50e9};
  const ContentionGrid grid = contention_grid({each});
  EXPECT_EQ(grid[0].h2d.value, 44e9);
  EXPECT_EQ(grid[0].d2h.value, 49.5e9);
}

TEST(RepetitionCounts, GoOnUntilEveryMeanIsSure) {
  EXPECT_EQ(relative_error({}), 1);
  EXPECT_EQ(relative_error({7}), 1);  // once says nothing of the next time
  EXPECT_NEAR(relative_error({0.9, 1.1}), 0.1, 1e-12);
  EXPECT_NEAR(relative_error({0.9, 1.1, 0.9, 1.1}), 0.1 / std::sqrt(3), 1e-12);
  LoadMixSamples each = sample({2, Copies::h2d, Products::none}, 1, 1, 0, 0);
  EXPECT_FALSE(is_sure(each));
  each.update = {1.0, 1.01, 1.0, 1.01};
  each.h2d = {1.0, 1.0, 1.0, 1.0};
  EXPECT_TRUE(is_sure(each));
  each.h2d = {1.0, 1.1, 1.0, 1.1};
  EXPECT_FALSE(is_sure(each));
}

/// The mix's rates, each as often as the count says.
LoadMixSamples repeated(LoadMixSamples once, std::size_t count) {
  for (Samples* rate : {&once.update, &once.h2d, &once.d2h, &once.products}) {
    if (!rate->empty()) rate->assign(count, rate->front());
  }
  return once;
}

TEST(ProductInterference, OfManyAgreeingWindowsIsTheSpeedBesideOverTheSpeedAlone) {
  const auto pairs = product_interference(
      {repeated(sample({0, Copies::none, Products::run}, 0, 0, 0, 7e14), 400),
       repeated(sample({0, Copies::h2d, Products::run}, 0, 54e9, 0, 6.65e14), 400),
       repeated(sample({14, Copies::none, Products::run}, 5e9, 0, 0, 7.1e14), 400),
       repeated(sample({0, Copies::h2d, Products::none}, 0, 55e9, 0, 0), 400)},
      14);
  ASSERT_EQ(pairs.size(), 3u);  // What was not measured is not there.
  EXPECT_EQ(pairs[0].on, planner::LaneKind::compute);
  EXPECT_EQ(pairs[0].from, planner::LaneKind::h2d);
  EXPECT_NEAR(pairs[0].factor.value, 0.95, 2e-3);
  EXPECT_EQ(pairs[1].from, planner::LaneKind::cpu);
  EXPECT_LE(pairs[1].factor.value, 1);  // Noise makes nothing faster.
  EXPECT_NEAR(pairs[1].factor.value, 1, 1e-3);
  EXPECT_EQ(pairs[2].on, planner::LaneKind::h2d);
  EXPECT_NEAR(pairs[2].factor.value, 54.0 / 55, 1e-3);
}

TEST(ProductInterference, OfTwoWindowsThatDifferIsNearTheUsualOne) {
  LoadMixSamples alone = sample({0, Copies::none, Products::run}, 0, 0, 0, 7e14);
  LoadMixSamples beside = sample({0, Copies::d2h, Products::run}, 0, 0, 54e9, 7e14);
  alone.products = {7.4e14, 7.0e14};
  beside.products = {6.9e14, 6.3e14};
  const auto pairs = product_interference({alone, beside}, 14);
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_GT(pairs[0].factor.value, 0.97);
  EXPECT_LT(pairs[0].factor.value, 0.99);
}

TEST(RateWithin, CountsWholeTurnsBetweenFirstAndLastEnd) {
  const std::vector<double> ends = {0.5, 1.0, 1.5, 2.0, 9.0};
  EXPECT_EQ(rate_within(ends, 0.9, 2.5), 2.0);  // 2 repetitions in 1 s
  EXPECT_EQ(rate_within(ends, 0.0, 2.0), 2.0);
  EXPECT_EQ(rate_within(ends, 3.0, 10.0), 0);
  EXPECT_EQ(rate_within({}, 0.0, 1.0), 0);
}

}  // namespace
}  // namespace sluice::profiler
