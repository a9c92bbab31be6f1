#include "planner/files/hash.hpp"

#include <openssl/evp.h>

#include <array>
#include <charconv>

#include "sim/error.hpp"

namespace sluice::planner {
namespace {

using Digest = std::array<std::uint8_t, 32>;

void require(bool done, std::string_view call) {
  if (!done) throw EnvironmentError("OpenSSL: " + std::string(call) + " failed");
}

/// OpenSSL's SHA-256, looked up once: a look-up takes a lock and longer than a short text's hash.
const EVP_MD* algorithm() {
  struct Free {
    void operator()(EVP_MD* md) const { EVP_MD_free(md); }
  };
  static const std::unique_ptr<EVP_MD, Free> kFetched(EVP_MD_fetch(nullptr, "SHA256", nullptr));
  require(kFetched != nullptr, "EVP_MD_fetch(SHA256)");
  return kFetched.get();
}

std::string hex_of(const Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * digest.size());
  for (const std::uint8_t byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

template <class Number>
std::string shortest(Number value) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), end.ptr};
}

}  // namespace

void Sha256::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Sha256::Context Sha256::made() {
  Context context(EVP_MD_CTX_new());
  require(context != nullptr, "EVP_MD_CTX_new");
  return context;
}

Sha256::Sha256() : context_(made()) {
  require(EVP_DigestInit_ex2(context_.get(), algorithm(), nullptr) == 1, "EVP_DigestInit_ex2");
}

Sha256& Sha256::update(std::span<const std::byte> bytes) {
  require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1, "EVP_DigestUpdate");
  return *this;
}

Sha256& Sha256::update(std::string_view text) {
  return update(std::as_bytes(std::span(text.data(), text.size())));
}

std::array<std::uint8_t, 32> Sha256::digest() const {
  const Context last = made();  // Finishing ends a stream, so a copy is finished.
  require(EVP_MD_CTX_copy_ex(last.get(), context_.get()) == 1, "EVP_MD_CTX_copy_ex");
  Digest digest;
  require(EVP_DigestFinal_ex(last.get(), digest.data(), nullptr) == 1, "EVP_DigestFinal_ex");
  return digest;
}

std::string Sha256::hex() const { return hex_of(digest()); }

std::string sha256_hex(std::string_view text) {
  Digest digest;
  require(EVP_Digest(text.data(), text.size(), digest.data(), nullptr, algorithm(), nullptr) == 1,
          "EVP_Digest");
  return hex_of(digest);
}

CanonicalText::CanonicalText(std::string_view kind) { text_.append(kind).append("\n"); }

CanonicalText& CanonicalText::add(std::string_view name, std::string_view value) {
  text_.append(name).append("=").append(value).append("\n");
  return *this;
}
CanonicalText& CanonicalText::add(std::string_view name, const char* value) {
  return add(name, std::string_view(value));
}
CanonicalText& CanonicalText::add(std::string_view name, std::int64_t value) {
  return add(name, std::string_view(shortest(value)));
}
CanonicalText& CanonicalText::add(std::string_view name, double value) {
  return add(name, std::string_view(shortest(value)));
}
CanonicalText& CanonicalText::add(std::string_view name, bool value) {
  return add(name, std::string_view(value ? "true" : "false"));
}

}  // namespace sluice::planner
