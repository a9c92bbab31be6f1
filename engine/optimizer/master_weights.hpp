// A master weight as two 16-bit halves: bits(master) = (high << 16) + low, low signed.
// `high` is the bf16 nearest to the master, ties away from zero, and is what streams to the device.
#pragma once

#include <bit>
#include <cstdint>

namespace sluice::engine {

struct SplitMaster {
  std::uint16_t high;  ///< Bits of the master weight rounded to bf16.
  /// What rounding the master to bf16 leaves: two's complement, -32768 .. 32767.
  std::uint16_t low;
  friend bool operator==(SplitMaster, SplitMaster) = default;
};

/// Splits a master weight. Adding half of the dropped range to the magnitude bits rounds to nearest
/// with ties away from zero, for either sign, denormals included; the remainder is exact. A finite
/// master above the largest bf16 rounds to infinity in `high` and still joins back exactly.
[[nodiscard]] constexpr SplitMaster split_master(float master) {
  const auto bits = std::bit_cast<std::uint32_t>(master);
  const std::uint32_t high = (bits + 0x8000u) >> 16;
  return {static_cast<std::uint16_t>(high), static_cast<std::uint16_t>(bits)};
}

/// Joins the halves to a master weight: bits(master) = (high << 16) + sign-extended low, modulo
/// 2^32.
[[nodiscard]] constexpr float join_master(SplitMaster halves) {
  const auto low = static_cast<std::int32_t>(static_cast<std::int16_t>(halves.low));
  return std::bit_cast<float>((static_cast<std::uint32_t>(halves.high) << 16) +
                              static_cast<std::uint32_t>(low));
}

/// The bf16 value of a high half.
[[nodiscard]] constexpr float bf16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// Rounds to the nearest bf16, ties to even, as for activations and bf16 gradients. NaN stays NaN.
[[nodiscard]] constexpr std::uint16_t float_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace sluice::engine
