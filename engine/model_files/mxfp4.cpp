#include "engine/model_files/mxfp4.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace sluice::engine {
namespace {

constexpr std::array<float, 8> kMagnitudes = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
constexpr unsigned kSign = 8;

float e2m1_to_float(unsigned bits) {
  const float magnitude = kMagnitudes[bits & 7u];
  return (bits & kSign) != 0 ? -magnitude : magnitude;
}

/// The nearest of kMagnitudes, ties to the even index.
unsigned nearest(float magnitude) {
  // Middles between neighbours; one that is met exactly belongs to the even neighbour.
  constexpr std::array<float, 7> kMiddles = {0.25F, 0.75F, 1.25F, 1.75F, 2.5F, 3.5F, 5};
  unsigned index = 0;
  while (index < kMiddles.size() &&
         (magnitude > kMiddles[index] || (magnitude == kMiddles[index] && index % 2 == 1))) {
    ++index;
  }
  return index;
}

/// A block rounded to one scale.
struct Rounded {
  std::array<std::uint8_t, kMxfp4Block> bits{};
  std::uint8_t scale = 127;
  double squared_error = 0;
};

Rounded rounded(std::span<const float> values, int exponent) {
  Rounded block;
  const int held = std::clamp(exponent, -127, 127);
  block.scale = static_cast<std::uint8_t>(held + 127);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double scaled = std::ldexp(static_cast<double>(values[i]), -held);
    // More than 8 is as far above all middles; fp32 could not hold some quotients.
    const unsigned code = nearest(static_cast<float>(std::min(std::abs(scaled), 8.0)));
    block.bits[i] = static_cast<std::uint8_t>(code | (std::signbit(values[i]) ? kSign : 0));
    const double error = std::ldexp(kMagnitudes[code], held) - std::abs(double{values[i]});
    block.squared_error += error * error;
  }
  return block;
}

Rounded best_rounded(std::span<const float> values) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  if (largest == 0) return rounded(values, 0);
  const int exponent = std::ilogb(largest);
  const Rounded fine = rounded(values, exponent - 2);
  if (fine.squared_error == 0) return fine;
  const Rounded coarse = rounded(values, exponent - 1);
  return coarse.squared_error < fine.squared_error ? coarse : fine;
}

}  // namespace

float e8m0_to_float(std::uint8_t bits) {
  if (bits == 255) return std::numeric_limits<float>::quiet_NaN();
  return std::ldexp(1.0F, static_cast<int>(bits) - 127);
}

void decode_mxfp4(const std::byte* blocks, const std::byte* scales, std::int64_t first,
                  std::span<float> out) {
  float scale = 0;
  std::int64_t of_block = -1;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t at = first + static_cast<std::int64_t>(i);
    if (at / kMxfp4Block != of_block) {
      of_block = at / kMxfp4Block;
      scale = e8m0_to_float(std::to_integer<std::uint8_t>(scales[of_block]));
    }
    const auto byte = std::to_integer<unsigned>(blocks[at / 2]);
    out[i] = e2m1_to_float(at % 2 == 0 ? byte & 15u : byte >> 4) * scale;
  }
}

RoundingError& RoundingError::operator+=(const RoundingError& other) {
  squared_error += other.squared_error;
  squared_values += other.squared_values;
  return *this;
}

double RoundingError::relative() const {
  return squared_values == 0 ? 0 : std::sqrt(squared_error / squared_values);
}

RoundingError encode_mxfp4(std::span<const float> values, std::byte* blocks, std::byte* scales) {
  RoundingError error;
  for (std::size_t first = 0; first < values.size(); first += kMxfp4Block) {
    const auto block = values.subspan(first, kMxfp4Block);
    const Rounded best = best_rounded(block);
    for (std::size_t i = 0; i < block.size(); i += 2) {
      blocks[(first + i) / 2] =
          static_cast<std::byte>(best.bits[i] | static_cast<unsigned>(best.bits[i + 1]) << 4);
    }
    scales[first / kMxfp4Block] = static_cast<std::byte>(best.scale);
    error.squared_error += best.squared_error;
    for (const float value : block) error.squared_values += double{value} * double{value};
  }
  return error;
}

}  // namespace sluice::engine
