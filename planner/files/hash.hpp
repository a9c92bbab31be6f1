// SHA-256 (FIPS 180-4), and the canonical text from which job, plan and profile hashes are taken.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sluice::planner {

/// Streaming SHA-256: `Sha256{}.update(bytes).hex()`. `hex` and `digest` may be called at any time
/// and do not disturb the stream.
class Sha256 {
 public:
  Sha256& update(std::span<const std::byte> bytes);
  Sha256& update(std::string_view text);
  [[nodiscard]] std::array<std::uint8_t, 32> digest() const;
  [[nodiscard]] std::string hex() const;  ///< The digest as 64 lower-case hexadecimal digits.

 private:
  void absorb(const std::uint8_t* blocks, std::size_t count);
  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> block_{};
  std::size_t filled_ = 0;
  std::uint64_t length_ = 0;  ///< Bytes absorbed so far, including those waiting in `block_`.
};

/// SHA-256 of `text` as 64 lower-case hexadecimal digits.
[[nodiscard]] std::string sha256_hex(std::string_view text);

/// Text of lines "name=value" in the order of the add() calls, to be hashed: equal values give
/// equal bytes on every machine. Doubles are written as the shortest decimal that reads back to the
/// same bits.
class CanonicalText {
 public:
  /// `kind` is the first line: what is hashed, and the version of its format.
  explicit CanonicalText(std::string_view kind);
  CanonicalText& add(std::string_view name, std::string_view value);
  CanonicalText& add(std::string_view name, const char* value);
  CanonicalText& add(std::string_view name, std::int64_t value);
  CanonicalText& add(std::string_view name, double value);
  CanonicalText& add(std::string_view name, bool value);
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::string hash() const { return sha256_hex(text_); }

 private:
  std::string text_;
};

}  // namespace sluice::planner
