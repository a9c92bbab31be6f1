// Scales and numbers of block-scaled FP8 (E4M3): the arithmetic that host and GPU share.
// docs/design/fp8.md has the equations.
#pragma once

#include <bit>
#include <cstdint>

#include "planner/models/job.hpp"

namespace sluice::engine {

/// Number of neighbouring elements, along the dimension that a product sums over, that share a
/// scale.
inline constexpr std::int64_t kScaleBlock = planner::kFp8Block;

/// A power of two that numbers were divided by before they were rounded to E4M3, and its
/// reciprocal.
struct BlockScale {
  float scale;
  float inverse;
};

/// Exponents of the largest numbers of E4M3, 448 = 1.75 * 2^8, and of E5M2, 57344 = 1.75 * 2^15.
inline constexpr std::uint32_t kE4m3Exponent = 8, kE5m2Exponent = 15;

/// Scale of numbers whose largest magnitude is the bf16 with bits `largest` (its sign is zero): the
/// smallest power of two s with largest <= 1.75 * 2^`format` * s, at least 2^-126, where `format`
/// is the exponent of the format's largest number. If `largest` is infinite or not a number, the
/// scale is infinite and its reciprocal 0, so that every product with such numbers is not a number.
[[nodiscard]] constexpr BlockScale block_scale(std::uint32_t largest,
                                               std::uint32_t format = kE4m3Exponent) {
  constexpr std::uint32_t kInfiniteExponent = 255;
  const std::uint32_t exponent = largest >> 7;
  const std::uint32_t fraction = largest & 0x7fu;
  if (exponent == kInfiniteExponent) return {std::bit_cast<float>(0x7f800000u), 0.0f};
  // 1 + 96 / 128 = 1.75.
  const std::uint32_t above = exponent + (fraction > 96 ? 1u : 0u);
  const std::uint32_t biased = above > format + 1 ? above - format : 1u;
  return {std::bit_cast<float>(biased << 23), std::bit_cast<float>((254u - biased) << 23)};
}

/// E4M3 number nearest to `value`, ties to even; magnitudes above 448 become 448, and what is not a
/// number stays so.
[[nodiscard]] constexpr std::uint8_t to_e4m3(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint8_t>(bits >> 24 & 0x80u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint8_t>(sign | 0x7fu);
  constexpr std::uint32_t kLargest = 0x43e00000u;      // 448
  constexpr std::uint32_t kLeastNormal = 0x3c800000u;  // 2^-6
  if (magnitude >= kLargest) return static_cast<std::uint8_t>(sign | 0x7eu);
  if (magnitude < kLeastNormal) {
    // Adding 2^14 rounds to multiples of 2^-9 and leaves their number in the lowest bits.
    const float rounded = std::bit_cast<float>(magnitude) + 16384.0f;
    return static_cast<std::uint8_t>(sign | (std::bit_cast<std::uint32_t>(rounded) & 0xfu));
  }
  constexpr std::uint32_t kDropped = 20;  // Fraction bits of fp32 less those of E4M3.
  const std::uint32_t odd = magnitude >> kDropped & 1u;
  const std::uint32_t rounded = magnitude + (1u << (kDropped - 1)) - 1 + odd;
  constexpr std::uint32_t kRebias = 120u << 23;  // 127 - 7
  return static_cast<std::uint8_t>(sign | ((rounded - kRebias) >> kDropped));
}

/// Value of the E4M3 number with these bits, exactly.
[[nodiscard]] constexpr float e4m3_value(std::uint8_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x80u) << 24;
  const std::uint32_t magnitude = bits & 0x7fu;
  if (magnitude == 0x7fu) return std::bit_cast<float>(sign | 0x7fc00000u);
  if (magnitude < 8) {
    const float value = static_cast<float>(magnitude) * (1.0f / 512.0f);
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }
  return std::bit_cast<float>(sign | ((magnitude << 20) + (120u << 23)));
}

/// E5M2 number nearest to `value`, ties to even; magnitudes above 57344 become 57344, and what is
/// not a number stays so.
[[nodiscard]] constexpr std::uint8_t to_e5m2(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint8_t>(bits >> 24 & 0x80u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint8_t>(sign | 0x7fu);
  constexpr std::uint32_t kLargest = 0x47600000u;      // 57344
  constexpr std::uint32_t kLeastNormal = 0x38800000u;  // 2^-14
  if (magnitude >= kLargest) return static_cast<std::uint8_t>(sign | 0x7bu);
  if (magnitude < kLeastNormal) {
    // Adding 2^7 rounds to multiples of 2^-16 and leaves their number in the lowest bits.
    const float rounded = std::bit_cast<float>(magnitude) + 128.0f;
    return static_cast<std::uint8_t>(sign | (std::bit_cast<std::uint32_t>(rounded) & 0x7u));
  }
  constexpr std::uint32_t kDropped = 21;  // Fraction bits of fp32 less those of E5M2.
  const std::uint32_t odd = magnitude >> kDropped & 1u;
  const std::uint32_t rounded = magnitude + (1u << (kDropped - 1)) - 1 + odd;
  constexpr std::uint32_t kRebias = 112u << 23;  // 127 - 15
  return static_cast<std::uint8_t>(sign | ((rounded - kRebias) >> kDropped));
}

/// Value of the E5M2 number with these bits, exactly; they are not those of an infinity.
[[nodiscard]] constexpr float e5m2_value(std::uint8_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x80u) << 24;
  const std::uint32_t magnitude = bits & 0x7fu;
  if (magnitude > 0x7cu) return std::bit_cast<float>(sign | 0x7fc00000u);
  if (magnitude < 4) {
    const float value = static_cast<float>(magnitude) * (1.0f / 65536.0f);
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }
  return std::bit_cast<float>(sign | ((magnitude << 21) + (112u << 23)));
}

}  // namespace sluice::engine
