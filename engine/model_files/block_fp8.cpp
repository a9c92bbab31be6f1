#include "engine/model_files/block_fp8.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/model_files/mxfp4.hpp"
#include "engine/optimizer/master_weights.hpp"

namespace sluice::engine {
namespace {

float factor_at(const BlockFp8& stored, std::int64_t index) {
  switch (stored.type) {
    case FactorType::fp32: {
      float value = 0;
      std::memcpy(&value, stored.factors + index * 4, sizeof value);
      return value;
    }
    case FactorType::bf16: {
      std::uint16_t bits = 0;
      std::memcpy(&bits, stored.factors + index * 2, sizeof bits);
      return bf16_to_float(bits);
    }
    case FactorType::e8m0:
      return e8m0_to_float(std::to_integer<std::uint8_t>(stored.factors[index]));
  }
  return 0;
}

const std::array<float, 256>& e4m3_values() {
  static const std::array<float, 256> values = [] {
    std::array<float, 256> all{};
    for (std::size_t bits = 0; bits < all.size(); ++bits) {
      all[bits] = e4m3_to_float(static_cast<std::uint8_t>(bits));
    }
    return all;
  }();
  return values;
}

}  // namespace

float e4m3_to_float(std::uint8_t bits) {
  const int exponent = bits >> 3 & 15;
  const int fraction = bits & 7;
  float magnitude = 0;
  if (exponent == 15 && fraction == 7) {
    magnitude = std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(fraction), -9);
  } else {
    magnitude = std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
  }
  return (bits & 0x80u) != 0 ? -magnitude : magnitude;
}

void decode_block_fp8(const BlockFp8& stored, std::int64_t first, std::span<float> out) {
  const std::int64_t block_rows = (stored.rows + stored.block_rows - 1) / stored.block_rows;
  const std::int64_t block_cols = (stored.cols + stored.block_cols - 1) / stored.block_cols;
  const std::int64_t last = first + std::ssize(out);
  const std::array<float, 256>& values = e4m3_values();
  for (std::int64_t at = first; at < last;) {
    const std::int64_t row = at / stored.cols % stored.rows;
    const std::int64_t matrix = at / (stored.cols * stored.rows);
    const std::int64_t col = at % stored.cols;
    const std::int64_t block = col / stored.block_cols;
    const float factor =
        factor_at(stored, (matrix * block_rows + row / stored.block_rows) * block_cols + block);
    const std::int64_t end_col = std::min((block + 1) * stored.block_cols, stored.cols);
    const std::int64_t end = std::min(at + end_col - col, last);
    for (; at < end; ++at) {
      out[static_cast<std::size_t>(at - first)] =
          values[std::to_integer<std::size_t>(stored.values[at])] * factor;
    }
  }
}

}  // namespace sluice::engine
