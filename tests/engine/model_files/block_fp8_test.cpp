// Tests of FP8 weights with a factor for every block.
#include "engine/model_files/block_fp8.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/engine/stored_files.hpp"

namespace sluice::engine::testing {
namespace {

TEST(BlockFp8, NumbersHaveFourBitsOfExponentAndThreeOfFraction) {
  EXPECT_EQ(e4m3_to_float(0x38), 1);
  EXPECT_EQ(e4m3_to_float(0xb9), -1.125F);
  EXPECT_EQ(e4m3_to_float(0x7e), 448);
  EXPECT_EQ(e4m3_to_float(0x01), std::ldexp(1.0F, -9));
  EXPECT_EQ(e4m3_to_float(0x07), 7 * std::ldexp(1.0F, -9));
  EXPECT_EQ(e4m3_to_float(0x08), std::ldexp(1.0F, -6));
  EXPECT_TRUE(std::isnan(e4m3_to_float(0x7f)));
  EXPECT_TRUE(std::isnan(e4m3_to_float(0xff)));
}

std::vector<float> decoded(FactorType type, const std::string& factors, std::int64_t first,
                           std::size_t count) {
  // Two matrices [3, 5] of ones, in blocks of 2 x 2: 2 x 3 factors each.
  const std::string values(30, '\x38');
  std::vector<float> out(count);
  decode_block_fp8({.values = reinterpret_cast<const std::byte*>(values.data()),
                    .factors = reinterpret_cast<const std::byte*>(factors.data()),
                    .type = type,
                    .rows = 3,
                    .cols = 5,
                    .block_rows = 2,
                    .block_cols = 2},
                   first, out);
  return out;
}

TEST(BlockFp8, EveryNumberHasTheFactorOfItsBlock) {
  const std::string factors =
      bytes_of(std::vector<float>{1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60});
  const std::vector<float> expected = {1,  1,  2,  2,  3,  1,  1,  2,  2,  3,  4,  4,  5,  5,  6,
                                       10, 10, 20, 20, 30, 10, 10, 20, 20, 30, 40, 40, 50, 50, 60};
  EXPECT_EQ(decoded(FactorType::fp32, factors, 0, 30), expected);
  for (std::int64_t first = 0; first < 30; ++first) {
    EXPECT_EQ(decoded(FactorType::fp32, factors, first, static_cast<std::size_t>(30 - first)),
              std::vector<float>(expected.begin() + first, expected.end()));
  }
}

TEST(BlockFp8, FactorsMayBeBf16OrPowersOfTwo) {
  const std::string powers = "\x7f\x80\x81\x7e\x7d\x7c\x7f\x80\x81\x7e\x7d\x7c";
  EXPECT_EQ(decoded(FactorType::e8m0, powers, 0, 5), (std::vector<float>{1, 1, 2, 2, 4}));
  const std::string halves = bytes_of(std::vector<std::uint16_t>(12, 0x3fc0));  // 1.5.
  EXPECT_EQ(decoded(FactorType::bf16, halves, 3, 2), (std::vector<float>{1.5F, 1.5F}));
}

}  // namespace
}  // namespace sluice::engine::testing
