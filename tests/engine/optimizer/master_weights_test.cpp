#include "engine/optimizer/master_weights.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace sluice::engine {
namespace {

float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

/// Specification of the rounding: the nearer of the two bf16 neighbours of the magnitude, the
/// larger in a tie.
std::uint16_t nearest_ties_away(std::uint32_t bits) {
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t below = magnitude >> 16;
  const std::uint32_t distance = magnitude - (below << 16);
  const std::uint32_t rounded = distance >= 0x8000u ? below + 1 : below;
  return static_cast<std::uint16_t>(rounded | (bits >> 31 << 15));
}

TEST(MasterWeights, HighIsNearestTiesAwayAndHalvesJoinExactlyOverAllHighsOfBothSigns) {
  // Every high half (all exponents, denormals, both signs) with the low halves around the tie and
  // at both ends.
  for (std::uint32_t high = 0; high < 0x10000u; ++high) {
    if ((high & 0x7f80u) == 0x7f80u) continue;  // Infinities and NaNs are no weights.
    for (const std::uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      const std::uint32_t bits = high << 16 | low;
      const SplitMaster halves = split_master(from_bits(bits));
      ASSERT_EQ(halves.high, nearest_ties_away(bits)) << std::hex << bits;
      ASSERT_EQ(std::bit_cast<std::uint32_t>(join_master(halves)), bits) << std::hex << bits;
    }
  }
}

TEST(MasterWeights, HalvesJoinExactlyOverAllLowHalves) {
  for (const std::uint32_t high : {0x0000u, 0x8000u, 0x0001u, 0x007fu, 0x0080u, 0x3f80u, 0xbf80u,
                                   0x3f7fu, 0x7f7fu, 0xff7fu, 0x4049u, 0xc2c8u}) {
    for (std::uint32_t low = 0; low < 0x10000u; ++low) {
      const std::uint32_t bits = high << 16 | low;
      const SplitMaster halves = split_master(from_bits(bits));
      ASSERT_EQ(halves.high, nearest_ties_away(bits)) << std::hex << bits;
      ASSERT_EQ(std::bit_cast<std::uint32_t>(join_master(halves)), bits) << std::hex << bits;
    }
  }
}

TEST(MasterWeights, RemainderIsTheSignedDistanceFromTheHighHalf) {
  const float master = from_bits(0x3f80ffffu);  // One unit below the next bf16.
  const SplitMaster halves = split_master(master);
  EXPECT_EQ(halves.high, 0x3f81u);
  EXPECT_EQ(static_cast<std::int16_t>(halves.low), -1);
  EXPECT_EQ(bf16_to_float(halves.high), from_bits(0x3f810000u));
}

TEST(MasterWeights, SmallUpdatesAccumulateThatBf16WouldLose) {
  // 1 + 2^-20 rounds to 1 in bf16; a thousand such steps move the master by 2^-10.
  float master = 1;
  for (int i = 0; i < 1024; ++i) {
    const SplitMaster halves = split_master(master);
    master = join_master(halves) + std::ldexp(1.0f, -20);
  }
  EXPECT_EQ(master, 1 + std::ldexp(1.0f, -10));
}

TEST(Bf16, RoundsToNearestEvenAndKeepsNaN) {
  for (std::uint32_t high = 0; high < 0x7f80u; ++high) {
    EXPECT_EQ(float_to_bf16(from_bits(high << 16)), high);
    EXPECT_EQ(float_to_bf16(from_bits(high << 16 | 0x7fffu)), high);
    EXPECT_EQ(float_to_bf16(from_bits(high << 16 | 0x8000u)), high + (high & 1u));
    EXPECT_EQ(float_to_bf16(from_bits(high << 16 | 0x8001u)), high + 1);
  }
  EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(from_bits(0x7f800001u)))));
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(bf16_to_float(float_to_bf16(infinity)), infinity);
}

}  // namespace
}  // namespace sluice::engine
