#include "planner/files/hash.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "planner/files/hash_blocks.hpp"

namespace sluice::planner {
namespace {

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

void sha256_blocks_portable(std::uint32_t* state, const std::uint8_t* blocks, std::size_t count) {
  for (; count > 0; --count, blocks += 64) {
    std::array<std::uint32_t, 64> w;
    for (std::size_t i = 0; i < 16; ++i) w[i] = big_endian(blocks + 4 * i);
    for (std::size_t i = 16; i < 64; ++i) {
      const std::uint32_t s0 =
          std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
      const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    std::array<std::uint32_t, 8> v;
    std::copy_n(state, v.size(), v.begin());
    auto& [a, b, c, d, e, f, g, h] = v;
    for (std::size_t i = 0; i < 64; ++i) {
      const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
      const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kSha256Rounds[i] + w[i];
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
    for (std::size_t i = 0; i < v.size(); ++i) state[i] += v[i];
  }
}

void Sha256::absorb(const std::uint8_t* blocks, std::size_t count) {
  static const auto kBlocks = has_sha_ni() ? sha256_blocks_ni : sha256_blocks_portable;
  kBlocks(state_.data(), blocks, count);
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
    absorb(block_.data(), 1);
    filled_ = 0;
  }
  // All whole blocks in one call: the state stays in registers between them.
  const std::size_t whole = left / block_.size();
  absorb(data, whole);
  data += whole * block_.size();
  left %= block_.size();
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
