// Weights in FP8 (E4M3) with a factor for every block of a matrix, as DeepSeek, MiniMax and other
// checkpoints have them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::engine {

/// Value of an E4M3 number ("fn": no infinities, NaN for 0x7f and 0xff), exactly in fp32.
[[nodiscard]] float e4m3_to_float(std::uint8_t bits);

/// Types of the factors: fp32, bf16, or E8M0 (powers of two, one byte).
enum class FactorType { fp32, bf16, e8m0 };

/// Matrices of equal size, one behind the other, with a factor for every block of each.
struct BlockFp8 {
  const std::byte* values;   ///< E4M3 numbers, row-major [matrices, rows, cols].
  const std::byte* factors;  ///< [matrices, ceil(rows / block_rows), ceil(cols / block_cols)].
  FactorType type = FactorType::fp32;
  std::int64_t rows, cols;
  std::int64_t block_rows, block_cols;
};

/// Decodes numbers first .. first + out.size() - 1: each is the E4M3 number times its block's
/// factor, rounded to fp32.
void decode_block_fp8(const BlockFp8& stored, std::int64_t first, std::span<float> out);

}  // namespace sluice::engine
