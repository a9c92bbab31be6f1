#include "planner/hash.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

namespace sluice::planner {
namespace {

constexpr std::array<std::uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | bytes[3];
}

template <class Number>
std::string shortest(Number value) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), end.ptr};
}

}  // namespace

void Sha256::absorb(const std::uint8_t* block) {
  std::array<std::uint32_t, 64> w;
  for (std::size_t i = 0; i < 16; ++i) w[i] = big_endian(block + 4 * i);
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const std::array<std::uint32_t, 8> after = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state_[i] += after[i];
}

Sha256& Sha256::update(std::span<const std::byte> bytes) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  std::size_t left = bytes.size();
  length_ += left;
  if (filled_ > 0) {
    const std::size_t taken = std::min(left, block_.size() - filled_);
    std::copy_n(data, taken, block_.begin() + static_cast<std::ptrdiff_t>(filled_));
    filled_ += taken;
    data += taken;
    left -= taken;
    if (filled_ < block_.size()) return *this;
    absorb(block_.data());
    filled_ = 0;
  }
  for (; left >= block_.size(); data += block_.size(), left -= block_.size()) absorb(data);
  std::copy_n(data, left, block_.begin());
  filled_ = left;
  return *this;
}

Sha256& Sha256::update(std::string_view text) {
  return update(std::as_bytes(std::span(text.data(), text.size())));
}

std::array<std::uint8_t, 32> Sha256::digest() const {
  Sha256 last = *this;
  // One bit, zeros to 56 bytes past a block, the length in bits.
  std::array<std::uint8_t, 72> padding{0x80};
  const std::size_t zeros = (119 - last.filled_) % 64;
  for (std::size_t i = 0; i < 8; ++i) {
    padding[1 + zeros + i] = static_cast<std::uint8_t>(length_ * 8 >> (56 - 8 * i));
  }
  last.update(std::as_bytes(std::span(padding.data(), 1 + zeros + 8)));
  std::array<std::uint8_t, 32> digest;
  for (std::size_t i = 0; i < 32; ++i) {
    digest[i] = static_cast<std::uint8_t>(last.state_[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

std::string Sha256::hex() const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : digest()) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string sha256_hex(std::string_view text) { return Sha256{}.update(text).hex(); }

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
