#include "sim/fair_share.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace sluice::sim {
namespace {

constexpr double kNoCap = std::numeric_limits<double>::infinity();
constexpr std::array kLinkA{FrozenUse{0, 1}};
constexpr std::array kLinkB{FrozenUse{1, 1}};
constexpr std::array kBoth{FrozenUse{0, 1}, FrozenUse{1, 1}};

TEST(FairShare, OneFlowTakesTheWholeLink) {
  FairShare shares(std::array{30.0}, 1);
  shares.start(0, 1, kNoCap, kLinkA);
  EXPECT_EQ(shares.update().size(), 1U);
  EXPECT_EQ(shares.rate(0), 30);
}

TEST(FairShare, ThreeEqualFlowsEachGetAThirdOfCapacity) {
  FairShare shares(std::array{30.0}, 3);
  for (std::uint32_t slot = 0; slot < 3; ++slot) shares.start(slot, 1, kNoCap, kLinkA);
  shares.update();
  for (std::uint32_t slot = 0; slot < 3; ++slot) EXPECT_EQ(shares.rate(slot), 10);
}

TEST(FairShare, RatesRiseInProportionToWeights) {
  FairShare shares(std::array{30.0}, 2);
  shares.start(0, 1, kNoCap, kLinkA);
  shares.start(1, 4, kNoCap, kLinkA);
  shares.update();
  EXPECT_EQ(shares.rate(0), 6);   // 30 x 1/5
  EXPECT_EQ(shares.rate(1), 24);  // 30 x 4/5
}

TEST(FairShare, WhatACapLeavesGoesToTheOthers) {
  FairShare shares(std::array{30.0}, 3);
  shares.start(0, 1, 4, kLinkA);
  shares.start(1, 1, kNoCap, kLinkA);
  shares.start(2, 1, kNoCap, kLinkA);
  shares.update();
  EXPECT_EQ(shares.rate(0), 4);
  EXPECT_EQ(shares.rate(1), 13);  // (30 - 4) / 2
  EXPECT_EQ(shares.rate(2), 13);
}

TEST(FairShare, CoefficientsCountLinkUnitsPerUnitMoved) {
  FairShare shares(std::array{120.0}, 2);
  const std::array twelve{FrozenUse{0, 12}};
  shares.start(0, 1, kNoCap, kLinkA);
  shares.start(1, 0.25, kNoCap, twelve);
  shares.update();
  EXPECT_EQ(shares.rate(0), 30);   // level x (1 + 12/4) = 120
  EXPECT_EQ(shares.rate(1), 7.5);  // 30 + 12 x 7.5 = 120
}

// The textbook's line network: one flow crosses both links, one more on each.
TEST(FairShare, AFlowStopsAtItsTightestLinkAndOthersGoOnRising) {
  FairShare shares(std::array{10.0, 30.0}, 3);
  shares.start(0, 1, kNoCap, kBoth);
  shares.start(1, 1, kNoCap, kLinkA);
  shares.start(2, 1, kNoCap, kLinkB);
  shares.update();
  EXPECT_EQ(shares.rate(0), 5);
  EXPECT_EQ(shares.rate(1), 5);
  EXPECT_EQ(shares.rate(2), 25);
}

TEST(FairShare, AFlowWithoutLinksRunsAtItsCap) {
  FairShare shares({}, 1);
  shares.start(0, 7, 3, {});
  shares.update();
  EXPECT_EQ(shares.rate(0), 3);
}

// Use times weight is below the smallest double, so that the link never fills.
TEST(FairShare, AFlowWhoseUseIsTooSmallToCountRunsAtItsCap) {
  FairShare shares(std::array{10.0}, 2);
  const std::array tiny{FrozenUse{0, 1e-300}};
  shares.start(0, 1e-300, kNoCap, tiny);
  shares.start(1, 1e-300, 5, tiny);
  shares.update();
  EXPECT_EQ(shares.rate(0), kNoCap);
  EXPECT_EQ(shares.rate(1), 5);
}

// 5, 20 and 30 flows: each way in which ceilings are sorted. Flow i of n, of weight 1 and cap n -
// i, has a fair level of its own: with a capacity of 1 + 2 + ... + n all are at their caps, and
// with half a unit less the fastest has half a unit less.
TEST(FairShare, CapsAreReachedInOrderHoweverManyFlowsThereAre) {
  for (const std::uint32_t count : {5U, 20U, 30U}) {
    const double all = count * (count + 1) / 2.0;
    for (const double missing : {0.0, 0.5}) {
      FairShare shares(std::array{all - missing}, count);
      for (std::uint32_t slot = 0; slot < count; ++slot)
        shares.start(slot, 1, count - slot, kLinkA);
      shares.update();
      EXPECT_EQ(shares.rate(0), count - missing);
      for (std::uint32_t slot = 1; slot < count; ++slot) EXPECT_EQ(shares.rate(slot), count - slot);
    }
  }
}

TEST(FairShare, OnlyFlowsConnectedToTheChangeAreComputedAgain) {
  FairShare shares(std::array{10.0, 30.0}, 4);
  shares.start(0, 1, kNoCap, kLinkA);
  shares.start(1, 1, kNoCap, kLinkB);
  shares.update();
  shares.start(2, 1, kNoCap, kLinkB);
  const auto changed = shares.update();
  EXPECT_EQ(std::vector(changed.begin(), changed.end()).size(), 2U);  // 1 and 2, not 0
  EXPECT_EQ(shares.rate(0), 10);
  EXPECT_EQ(shares.rate(1), 15);
}

TEST(FairShare, AStoppedFlowGivesItsShareBack) {
  FairShare shares(std::array{10.0}, 2);
  shares.start(0, 1, kNoCap, kLinkA);
  shares.start(1, 1, kNoCap, kLinkA);
  shares.update();
  shares.stop(0);
  shares.update();
  EXPECT_EQ(shares.rate(1), 10);
  EXPECT_TRUE(shares.update().empty());
}

TEST(FairShare, ALoweredCapIsFeltByTheOthers) {
  FairShare shares(std::array{10.0}, 2);
  shares.start(0, 1, 8, kLinkA);
  shares.start(1, 1, kNoCap, kLinkA);
  shares.update();
  EXPECT_EQ(shares.rate(1), 5);
  shares.set_cap(0, 2);
  shares.update();
  EXPECT_EQ(shares.rate(0), 2);
  EXPECT_EQ(shares.rate(1), 8);
}

// Loads twelve orders of magnitude apart: the small flow's share is not lost in the large one's.
TEST(FairShare, SmallLoadsSurviveBesideLargeOnes) {
  FairShare shares(std::array{1e12}, 2);
  const std::array large{FrozenUse{0, 1e6}};
  shares.start(0, 1e6, 1, large);
  shares.start(1, 1e-6, kNoCap, kLinkA);
  shares.update();
  EXPECT_EQ(shares.rate(0), 1);
  EXPECT_EQ(shares.rate(1), 1e12 - 1e6);
}

}  // namespace
}  // namespace sluice::sim
