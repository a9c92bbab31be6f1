#include "engine/tokenizer/byte_letters.hpp"

#include <map>

#include "sim/utf8.hpp"

namespace sluice::engine {
namespace {

bool is_visible(int byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

std::array<char32_t, 256> letters() {
  std::array<char32_t, 256> letters{};
  char32_t next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    letters[static_cast<std::size_t>(byte)] =
        is_visible(byte) ? static_cast<char32_t>(byte) : next++;
  }
  return letters;
}

}  // namespace

const std::array<std::string, 256>& byte_letters() {
  static const std::array<std::string, 256> texts = [] {
    std::array<std::string, 256> made;
    for (std::size_t byte = 0; byte < 256; ++byte) sim::append_utf8(made[byte], letters()[byte]);
    return made;
  }();
  return texts;
}

char32_t letter_of(unsigned char byte) {
  static const std::array<char32_t, 256> all = letters();
  return all[byte];
}

void write_byte_letters(AlignedText& text) {
  const std::string old(text.text());
  AlignedText::Edit edit(text);
  for (const char byte : old) {
    const auto value = static_cast<unsigned char>(byte);
    edit.put(letter_of(value), (value & 0xc0U) == 0x80 ? 1 : 0);
  }
  edit.finish();
}

std::optional<std::string> bytes_of_letters(std::string_view token) {
  static const std::map<char32_t, char> bytes = [] {
    std::map<char32_t, char> made;
    for (std::size_t byte = 0; byte < 256; ++byte) {
      made[letters()[byte]] = static_cast<char>(byte);
    }
    return made;
  }();
  std::string text;
  for (std::size_t at = 0; at < token.size();) {
    const auto point = sim::code_point_at(token, at);
    const auto found = point ? bytes.find(point->value) : bytes.end();
    if (found == bytes.end()) return std::nullopt;
    text += found->second;
    at += point->bytes;
  }
  return text;
}

}  // namespace sluice::engine
