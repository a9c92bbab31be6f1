// Tests of MXFP4 against the values that its specification lists.
#include "engine/model_files/mxfp4.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

namespace sluice::engine::testing {
namespace {

using Numbers = std::vector<float>;

struct Encoded {
  std::vector<std::byte> blocks, scales;
  RoundingError error;
};

Encoded encoded(const Numbers& values) {
  Encoded out{
      std::vector<std::byte>(values.size() / 2), std::vector<std::byte>(values.size() / 32), {}};
  out.error = encode_mxfp4(values, out.blocks.data(), out.scales.data());
  return out;
}

Numbers decoded(const Encoded& from, std::int64_t first, std::size_t count) {
  Numbers out(count);
  decode_mxfp4(from.blocks.data(), from.scales.data(), first, out);
  return out;
}

/// A block that begins with `values` and goes on with zeros.
Numbers block_of(Numbers values) {
  values.resize(32);
  return values;
}

TEST(Mxfp4, EveryCodeHasTheValueOfTheSpecification) {
  Encoded block;
  for (int pair = 0; pair < 8; ++pair) {  // Codes 0 and 1 in the first byte, the low one first.
    block.blocks.push_back(static_cast<std::byte>((2 * pair + 1) << 4 | 2 * pair));
  }
  block.blocks.resize(16);
  block.scales = {static_cast<std::byte>(128)};  // 2^1.
  EXPECT_EQ(decoded(block, 0, 16),
            (Numbers{0, 1, 2, 3, 4, 6, 8, 12, -0.0F, -1, -2, -3, -4, -6, -8, -12}));
  EXPECT_EQ(decoded(block, 3, 2), (Numbers{3, 4}));
}

TEST(Mxfp4, ScalesArePowersOfTwo) {
  EXPECT_EQ(e8m0_to_float(127), 1);
  EXPECT_EQ(e8m0_to_float(0), std::ldexp(1.0F, -127));
  EXPECT_EQ(e8m0_to_float(254), std::ldexp(1.0F, 127));
  EXPECT_TRUE(std::isnan(e8m0_to_float(255)));
}

TEST(Mxfp4, NumbersThatItHasComeBackWithoutError) {
  Numbers values;
  for (const float scale : {1.0F, 0x1p-100F, 0x1p90F, 0.125F}) {
    const Numbers block = block_of({0.5F * scale, -6 * scale, 3 * scale, 1.5F * scale, -scale});
    values.insert(values.end(), block.begin(), block.end());
  }
  const Encoded out = encoded(values);
  EXPECT_EQ(decoded(out, 0, values.size()), values);
  EXPECT_EQ(out.error.relative(), 0);
}

TEST(Mxfp4, TiesGoToTheEvenNeighbour) {
  // 6 fixes the scale at 1, so that the others lie in the middle between two values.
  const Numbers middles = block_of({6, 0.25F, 0.75F, 1.25F, 1.75F, 2.5F, 3.5F, 5, -0.75F});
  EXPECT_EQ(decoded(encoded(middles), 0, 9), (Numbers{6, 0, 1, 1, 2, 2, 4, 4, -1}));
}

TEST(Mxfp4, TheScaleIsTheOneWithTheSmallerError) {
  // 7.5 alone: scale 1 has at most 6 (error 1.5), scale 2 has 8 (error 0.5).
  EXPECT_EQ(decoded(encoded(block_of({7.5F})), 0, 1), Numbers{8});
  // Beside 31 times 0.5, which scale 2 would round to 0 (31 x 0.25 > 1.5^2 - 0.5^2), it is 6.
  Numbers many(32, 0.5F);
  many[0] = 7.5F;
  EXPECT_EQ(decoded(encoded(many), 0, 2), (Numbers{6, 0.5F}));
}

TEST(Mxfp4, TheErrorIsThatOfTheNumbersThatComeBack) {
  Numbers values(64);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::sin(static_cast<float>(i)) * (i < 32 ? 1.0F : 1e-3F);
  }
  const Encoded out = encoded(values);
  const Numbers back = decoded(out, 0, values.size());
  double error = 0, sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    error += std::pow(double{back[i]} - double{values[i]}, 2);
    sum += std::pow(double{values[i]}, 2);
  }
  EXPECT_DOUBLE_EQ(out.error.relative(), std::sqrt(error / sum));
  EXPECT_GT(out.error.relative(), 0.02);
  EXPECT_LT(out.error.relative(), 0.2);
}

TEST(Mxfp4, ABlockOfZerosStaysOne) {
  const Encoded out = encoded(Numbers(32));
  EXPECT_EQ(decoded(out, 0, 32), Numbers(32));
  EXPECT_EQ(out.error.relative(), 0);
}

}  // namespace
}  // namespace sluice::engine::testing
