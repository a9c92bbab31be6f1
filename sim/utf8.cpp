#include "sim/utf8.hpp"

#include <algorithm>

namespace sluice::sim {
namespace {

/// Number and range of the bytes that may follow a first byte (the Unicode Standard, table 3-7).
struct Form {
  std::size_t bytes;  ///< Number of bytes of the encoding; 0 if no character begins with this byte.
  unsigned char low, high;
};

Form form_of(unsigned char first) {
  if (first < 0x80) return {1, 0, 0};
  if (first < 0xc2) return {0, 0, 0};
  if (first < 0xe0) return {2, 0x80, 0xbf};
  if (first == 0xe0) return {3, 0xa0, 0xbf};
  if (first == 0xed) return {3, 0x80, 0x9f};
  if (first < 0xf0) return {3, 0x80, 0xbf};
  if (first == 0xf0) return {4, 0x90, 0xbf};
  if (first < 0xf4) return {4, 0x80, 0xbf};
  if (first == 0xf4) return {4, 0x80, 0x8f};
  return {0, 0, 0};
}

/// Number of bytes from `at` on that fit the form; a valid character has all of form.bytes.
std::size_t fitting(std::string_view text, std::size_t at, const Form& form) {
  const std::size_t end = std::min(text.size(), at + form.bytes);
  std::size_t i = at + 1;
  for (; i < end; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool second = i == at + 1;
    if (byte < (second ? form.low : 0x80) || byte > (second ? form.high : 0xbf)) break;
  }
  return i - at;
}

}  // namespace

std::optional<CodePoint> code_point_at(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const Form form = form_of(first);
  if (form.bytes == 1) return CodePoint{first, 1};
  if (form.bytes == 0 || fitting(text, at, form) != form.bytes) return std::nullopt;
  char32_t value = first & (0x7fU >> form.bytes);
  for (std::size_t i = 1; i < form.bytes; ++i) {
    value = value << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3fU);
  }
  return CodePoint{value, form.bytes};
}

std::optional<std::size_t> first_not_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Form form = form_of(static_cast<unsigned char>(text[at]));
    if (form.bytes == 0 || fitting(text, at, form) != form.bytes) return at;
    at += form.bytes;
  }
  return std::nullopt;
}

void append_utf8(std::string& text, char32_t value) {
  const auto tail = [&](int shift) { text += static_cast<char>(0x80 | (value >> shift & 0x3f)); };
  if (value < 0x80) {
    text += static_cast<char>(value);
  } else if (value < 0x800) {
    text += static_cast<char>(0xc0 | value >> 6);
    tail(0);
  } else if (value < 0x10000) {
    text += static_cast<char>(0xe0 | value >> 12);
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xf0 | value >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

std::string with_replacements(std::string_view bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size();) {
    const Form form = form_of(static_cast<unsigned char>(bytes[at]));
    const std::size_t length = form.bytes == 0 ? 1 : fitting(bytes, at, form);
    if (form.bytes == length && form.bytes != 0) {
      text.append(bytes.substr(at, length));
    } else {
      append_utf8(text, 0xfffd);
    }
    at += length;
  }
  return text;
}

}  // namespace sluice::sim
