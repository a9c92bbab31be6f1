#include "engine/tokenizer/split_pattern.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <cstdio>
#include <span>

#include "engine/tokenizer/unicode_tables.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

std::string ranges_text(std::span<const CodePointRange> ranges) {
  std::string text;
  for (const CodePointRange& range : ranges) {
    char part[40];
    std::snprintf(part, sizeof part, "\\x{%x}-\\x{%x}", static_cast<unsigned>(range.first),
                  static_cast<unsigned>(range.last));
    text += part;
  }
  return text;
}

/// Translates a pattern from left to right into PCRE2's syntax.
class Translation {
 public:
  Translation(const std::string& pattern, const std::string& where)
      : pattern_(pattern), where_(where) {}

  std::string run() {
    while (at_ < pattern_.size()) {
      const char letter = pattern_[at_];
      if (letter == '\\') {
        escape();
        continue;
      }
      if (letter == '[') {
        // Inside brackets Oniguruma has nested sets and &&, which PCRE2 lacks.
        if (in_set_) fail("has [ inside brackets");
        in_set_ = true;
      } else if (letter == ']') {
        in_set_ = false;
      } else if (letter == '&' && in_set_) {
        fail("has & inside brackets");
      }
      out_ += letter;
      ++at_;
    }
    return out_;
  }

 private:
  void escape() {
    const std::string_view rest = std::string_view(pattern_).substr(at_);
    if (rest.starts_with("\\p{L}")) return set("\\p{L}" + ranges_text(newer_letters()), 5);
    if (rest.starts_with("\\p{N}")) return set("\\p{N}" + ranges_text(newer_numbers()), 5);
    if (rest.starts_with("\\s")) return set(ranges_text(white_space()), 2);
    if (rest.starts_with("\\S") && !in_set_) {
      out_ += "[^" + ranges_text(white_space()) + "]";
      at_ += 2;
      return;
    }
    const char next = rest.size() > 1 ? rest[1] : '\0';
    const bool plain = next == 'r' || next == 'n' || next == 't';
    const bool punctuation =
        next > ' ' && next < 127 && !std::isalnum(static_cast<unsigned char>(next));
    if (!plain && !punctuation) {
      const std::size_t end = rest.starts_with("\\p{") ? rest.find('}') : 1;
      fail("uses " + std::string(rest.substr(0, end == std::string_view::npos ? 2 : end + 1)));
    }
    out_.append(rest.substr(0, 2));
    at_ += 2;
  }
  void set(const std::string& members, std::size_t length) {
    out_ += in_set_ ? members : "[" + members + "]";
    at_ += length;
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw BadRequest(where_ + ": the pattern " + what + ", which is not supported: " + pattern_);
  }

  const std::string& pattern_;
  const std::string& where_;
  std::string out_;
  std::size_t at_ = 0;
  bool in_set_ = false;
};

std::string message_of(int error) {
  PCRE2_UCHAR text[160] = {};
  pcre2_get_error_message(error, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

}  // namespace

struct SplitPattern::Compiled {
  struct FreeCode {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  };
  struct FreeMatch {
    void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
  };
  std::unique_ptr<pcre2_code, FreeCode> code;
  std::unique_ptr<pcre2_match_data, FreeMatch> match;
  std::string where;
};

SplitPattern::SplitPattern(const std::string& pattern, const std::string& where)
    : compiled_(std::make_unique<Compiled>()) {
  const std::string translated = to_pcre2(pattern, where);
  int error = 0;
  std::size_t offset = 0;
  compiled_->where = where;
  compiled_->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()),
                                      translated.size(), PCRE2_UTF | PCRE2_UCP, &error, &offset,
                                      nullptr));
  if (!compiled_->code) {
    throw BadRequest(where + ": " + message_of(error) + " in the pattern " + pattern);
  }
  // Without a compiler for this processor the interpreter matches, which is slower.
  (void)pcre2_jit_compile(compiled_->code.get(), PCRE2_JIT_COMPLETE);
  compiled_->match.reset(pcre2_match_data_create_from_pattern(compiled_->code.get(), nullptr));
  check(compiled_->match != nullptr, "there is room for a match");
}

SplitPattern::~SplitPattern() = default;
SplitPattern::SplitPattern(SplitPattern&&) noexcept = default;

void SplitPattern::split(std::string_view text,
                         const std::function<void(std::string_view)>& piece) const {
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size();) {
    const int found =
        pcre2_match(compiled_->code.get(), subject, text.size(), at,
                    PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, compiled_->match.get(), nullptr);
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0) throw BadRequest(compiled_->where + ": matching failed: " + message_of(found));
    const std::size_t* ends = pcre2_get_ovector_pointer(compiled_->match.get());
    if (ends[0] > done) piece(text.substr(done, ends[0] - done));
    piece(text.substr(ends[0], ends[1] - ends[0]));
    done = at = ends[1];
  }
  if (done < text.size()) piece(text.substr(done));
}

std::string to_pcre2(const std::string& pattern, const std::string& where) {
  return Translation(pattern, where).run();
}

}  // namespace sluice::engine
