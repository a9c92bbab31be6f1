// SHA-256 (FIPS 180-4), and the canonical text from which job, plan and profile hashes are taken.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct evp_md_ctx_st;  // EVP_MD_CTX of <openssl/evp.h>, which stays out of this header.

namespace sluice::planner {

/// Streaming SHA-256, computed by OpenSSL: `Sha256{}.update(bytes).hex()`. `hex` and `digest` may
/// be called at any time and do not disturb the stream. One object serves one thread at a time.
/// Throws EnvironmentError where OpenSSL has no SHA-256 or no memory.
class Sha256 {
 public:
  Sha256();
  Sha256& update(std::span<const std::byte> bytes);
  Sha256& update(std::string_view text);
  [[nodiscard]] std::array<std::uint8_t, 32> digest() const;
  [[nodiscard]] std::string hex() const;  ///< The digest as 64 lower-case hexadecimal digits.

 private:
  /// Deleter that frees OpenSSL's context.
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  using Context = std::unique_ptr<evp_md_ctx_st, Free>;

  [[nodiscard]] static Context made();

  Context context_;
};

/// SHA-256 of `text` as 64 lower-case hexadecimal digits.
[[nodiscard]] std::string sha256_hex(std::string_view text);

/// Text of lines "name=value" in the order of the add() calls, to be hashed: equal values give
/// equal bytes on every machine. Doubles are written as the shortest decimal that reads back to the
/// same bits.
class CanonicalText {
 public:
  /// Begins the text with the line `kind`, which names what is hashed and the version of its
  /// format.
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
