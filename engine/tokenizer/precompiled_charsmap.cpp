// The normalizer Precompiled: the replacements that a SentencePiece model carries as a trie of
// Darts' double-array form and a text of replacements that end in zero bytes
// (google/sentencepiece, normalizer.cc; huggingface/spm_precompiled).
#include <utf8proc.h>

#include <array>
#include <cstring>
#include <optional>

#include "engine/tokenizer/json_step.hpp"
#include "engine/tokenizer/normalizer.hpp"
#include "sim/utf8.hpp"

namespace sluice::engine {
namespace {

/// Bytes of Base64 text (RFC 4648); none if it is malformed.
std::optional<std::string> from_base64(std::string_view text) {
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char letter : text) {
    const std::size_t value = kLetters.find(letter);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << 6U | static_cast<std::uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(bits >> static_cast<unsigned>(count) & 0xffU);
    }
  }
  return bytes;
}

class Precompiled : public Normalizer {
 public:
  Precompiled(std::vector<std::uint32_t> units, std::string texts)
      : units_(std::move(units)), texts_(std::move(texts)) {}

  void apply(AlignedText& text) const override {
    const std::string old(text.text());
    Changes changes;
    bool modified = false;
    std::size_t skipped = 0;  // Characters left out at the very beginning.
    const auto replace = [&](std::string_view part) {
      const auto found = replacement(part);
      if (!found) return false;
      modified = true;
      // The first character replaces all of the old ones; what becomes nothing is taken by the
      // character before it.
      std::ptrdiff_t first = 1 - count(part);
      each_character(*found, [&](char32_t value, std::string_view) {
        changes.emplace_back(value, first);
        first = 1;
      });
      if (found->empty()) leave_out(count(part), changes, skipped);
      return true;
    };
    each_grapheme(old, [&](std::string_view grapheme) {
      constexpr std::size_t kLongest = 6;
      if (grapheme.size() < kLongest && replace(grapheme)) return;
      each_character(grapheme, [&](char32_t value, std::string_view part) {
        if (!replace(part)) changes.emplace_back(value, 0);
      });
    });
    if (!modified) return;
    AlignedText::Edit edit(text, skipped);
    for (const auto& [value, change] : changes) edit.put(value, change);
    edit.finish();
  }

 private:
  using Changes = std::vector<std::pair<char32_t, std::ptrdiff_t>>;

  static void leave_out(std::ptrdiff_t characters, Changes& changes, std::size_t& skipped) {
    for (auto each = changes.rbegin(); each != changes.rend(); ++each) {
      if (each->second > 0) continue;
      each->second -= characters;
      return;
    }
    skipped += static_cast<std::size_t>(characters);
  }

  template <class Take>
  static void each_character(std::string_view text, const Take& take) {
    for (std::size_t at = 0; at < text.size();) {
      const auto point = sim::code_point_at(text, at);
      const std::size_t bytes = point ? point->bytes : 1;
      take(point ? point->value : U'\uFFFD', text.substr(at, bytes));
      at += bytes;
    }
  }
  static std::ptrdiff_t count(std::string_view text) {
    std::ptrdiff_t characters = 0;
    each_character(text, [&](char32_t, std::string_view) { ++characters; });
    return characters;
  }
  /// Calls `take` with each extended grapheme cluster (UAX #29).
  template <class Take>
  static void each_grapheme(std::string_view text, const Take& take) {
    std::size_t begin = 0;
    utf8proc_int32_t state = 0;
    char32_t before = 0;
    each_character(text, [&](char32_t value, std::string_view part) {
      const auto at = static_cast<std::size_t>(part.data() - text.data());
      if (at > 0 &&
          utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(before),
                                           static_cast<utf8proc_int32_t>(value), &state)) {
        take(text.substr(begin, at - begin));
        begin = at;
      }
      before = value;
    });
    if (begin < text.size()) take(text.substr(begin));
  }

  static std::uint32_t offset(std::uint32_t unit) {
    return unit >> 10U << ((unit & 1U << 9U) >> 6U);
  }

  /// Replacement of the shortest beginning of `key` that the trie holds.
  std::optional<std::string_view> replacement(std::string_view key) const {
    if (units_.empty()) return std::nullopt;
    std::uint32_t node = offset(units_[0]);
    for (const char letter : key) {
      const auto byte = static_cast<unsigned char>(letter);
      if (byte == 0) return std::nullopt;
      node ^= byte;
      if (node >= units_.size()) return std::nullopt;
      const std::uint32_t unit = units_[node];
      if ((unit & (1U << 31U | 0xffU)) != byte) return std::nullopt;
      node ^= offset(unit);
      if ((unit >> 8U & 1U) == 0) continue;
      if (node >= units_.size()) return std::nullopt;
      const std::uint32_t at = units_[node] & 0x7fffffffU;
      if (at > texts_.size()) return std::nullopt;
      const std::string_view rest = std::string_view(texts_).substr(at);
      return rest.substr(0, rest.find('\0'));
    }
    return std::nullopt;
  }

  std::vector<std::uint32_t> units_;
  std::string texts_;
};

}  // namespace

std::unique_ptr<Normalizer> read_precompiled(const JsonStep& step) {
  const auto bytes = from_base64(step.text("precompiled_charsmap"));
  constexpr std::size_t kUnit = sizeof(std::uint32_t);
  std::uint32_t size = 0;
  if (bytes && bytes->size() >= kUnit) std::memcpy(&size, bytes->data(), kUnit);
  if (!bytes || bytes->size() < kUnit || bytes->size() - kUnit < size) {
    step.fail("precompiled_charsmap is not a map of SentencePiece in Base64");
  }
  std::vector<std::uint32_t> units(size / kUnit);
  std::memcpy(units.data(), bytes->data() + kUnit, units.size() * kUnit);
  std::string texts = bytes->substr(kUnit + units.size() * kUnit);
  if (sim::first_not_utf8(texts)) step.fail("precompiled_charsmap holds text that is not UTF-8");
  return std::make_unique<Precompiled>(std::move(units), std::move(texts));
}

}  // namespace sluice::engine
