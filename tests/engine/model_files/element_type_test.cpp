// Numbers in files: read exactly, written rounded to nearest even.
#include "engine/model_files/element_type.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace sluice::engine {
namespace {

/// The value of a binary16 by its definition.
double half_value(std::uint32_t bits) {
  const double sign = (bits & 0x8000u) != 0 ? -1 : 1;
  const int exponent = static_cast<int>(bits >> 10 & 0x1fu);
  const double fraction = bits & 0x3ffu;
  if (exponent == 0x1f) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  }
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1 + fraction / 1024, exponent - 15);
}

TEST(Fp16, EveryPatternHasItsValueAndComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = fp16_to_float(half);
    if (std::isnan(half_value(bits))) {
      EXPECT_TRUE(std::isnan(value));
      EXPECT_TRUE(std::isnan(fp16_to_float(float_to_fp16(value))));
      continue;
    }
    ASSERT_EQ(value, half_value(bits)) << bits;
    ASSERT_EQ(float_to_fp16(value), half);
  }
}

TEST(Fp16, BetweenTwoNeighboursTheNearerWinsAndTiesGoToEven) {
  for (std::uint32_t bits = 0; bits < 0x7bffu; ++bits) {
    const double low = half_value(bits), high = half_value(bits + 1);
    const auto middle = static_cast<float>((low + high) / 2);  // Exact: 11 + 1 bits.
    const auto even = static_cast<std::uint16_t>(bits % 2 == 0 ? bits : bits + 1);
    ASSERT_EQ(float_to_fp16(middle), even) << bits;
    ASSERT_EQ(float_to_fp16(std::nextafter(middle, 0.0F)), bits) << bits;
    ASSERT_EQ(float_to_fp16(std::nextafter(middle, 1e9F)), bits + 1) << bits;
    ASSERT_EQ(float_to_fp16(-middle), even | 0x8000u) << bits;
  }
  EXPECT_EQ(float_to_fp16(65519.996F), 0x7bff);
  EXPECT_EQ(float_to_fp16(65520.0F), 0x7c00);
}

std::uint16_t bf16_of(std::uint32_t bits) {
  const float value = std::bit_cast<float>(bits);
  std::uint16_t out = 0;
  EXPECT_FALSE(encode(ElementType::bf16, {&value, 1}, reinterpret_cast<std::byte*>(&out)));
  return out;
}

TEST(Bf16, RoundsToNearestEvenOnTheWayOut) {
  EXPECT_EQ(bf16_of(0x3f808000), 0x3f80);  // A tie: 3f80 is even.
  EXPECT_EQ(bf16_of(0x3f818000), 0x3f82);  // A tie: 3f81 is odd.
  EXPECT_EQ(bf16_of(0x3f808001), 0x3f81);
  EXPECT_EQ(bf16_of(0x3f807fff), 0x3f80);
  EXPECT_EQ(bf16_of(0xbf818000), 0xbf82);
  EXPECT_EQ(bf16_of(0x00008000), 0x0000);  // Denormals round like the rest.
  EXPECT_EQ(bf16_of(0x00018000), 0x0002);
  EXPECT_EQ(bf16_of(0x7f800000), 0x7f80);
}

TEST(Encode, SaysWhichFiniteValueIsTooLarge) {
  const std::vector<float> values = {1, std::numeric_limits<float>::infinity(), 7e4F, 8e4F};
  std::vector<std::byte> out(8);
  EXPECT_EQ(encode(ElementType::fp16, values, out.data()), 2u);
  const float largest = std::numeric_limits<float>::max();
  EXPECT_EQ(encode(ElementType::bf16, {&largest, 1}, out.data()), 0u);
  EXPECT_EQ(encode(ElementType::fp32, {&largest, 1}, out.data()), std::nullopt);
}

TEST(Decode, ReadsAtAnyAlignment) {
  std::vector<std::byte> bytes(9);
  const std::vector<float> values = {1.5F, -2.25F};
  for (const std::size_t shift : {0u, 1u}) {
    std::memcpy(bytes.data() + shift, values.data(), 8);
    std::vector<float> out(2);
    decode(ElementType::fp32, bytes.data() + shift, out);
    EXPECT_EQ(out, values);
  }
}

}  // namespace
}  // namespace sluice::engine
