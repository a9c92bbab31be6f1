// MXFP4: blocks of 32 numbers of four bits that share a power of two (OCP Microscaling Formats
// specification 1.0, sections 5.3.3 and 6.3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::engine {

inline constexpr std::int64_t kMxfp4Block = 32;  ///< Numbers of a block.
/// Bytes of a block's numbers; its scale is one byte more.
inline constexpr std::int64_t kMxfp4Bytes = kMxfp4Block / 2;

/// Value of an E8M0 scale: 2^(bits - 127), NaN for 255.
[[nodiscard]] float e8m0_to_float(std::uint8_t bits);

/// Decodes numbers first .. first + out.size() - 1 of a row of blocks, exactly in fp32: four bits
/// are a sign and one of 0, 0.5, 1, 1.5, 2, 3, 4 and 6; of two numbers in a byte, the low bits are
/// the first. `blocks` holds 16 bytes of every block, `scales` a byte of every block.
void decode_mxfp4(const std::byte* blocks, const std::byte* scales, std::int64_t first,
                  std::span<float> out);

/// Squared deviations that rounding caused, and the squares of the numbers themselves.
struct RoundingError {
  double squared_error = 0, squared_values = 0;
  RoundingError& operator+=(const RoundingError& other);
  /// Root of the quotient of the two; zero where all numbers are zero.
  [[nodiscard]] double relative() const;
};

/// Rounds whole blocks of finite `values` to MXFP4: each number to the nearest multiple, ties to
/// even, that its block's scale allows. The scale is 2^(e - 2) or 2^(e - 1), whichever gives the
/// smaller squared error, where e is the exponent of the block's largest magnitude. `blocks`
/// receives 16 bytes of every block and `scales` one.
RoundingError encode_mxfp4(std::span<const float> values, std::byte* blocks, std::byte* scales);

}  // namespace sluice::engine
