#include "engine/tokenizer/text_pattern.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <optional>

#include "engine/tokenizer/oniguruma_pattern.hpp"
#include "sim/error.hpp"
#include "sim/utf8.hpp"

namespace sluice::engine {
namespace {

std::string message_of(int error) {
  PCRE2_UCHAR text[160] = {};
  pcre2_get_error_message(error, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

}  // namespace

struct TextPattern::Compiled {
  template <auto Function>
  struct Freed {
    template <class T>
    void operator()(T* value) const {
      Function(value);
    }
  };

  std::unique_ptr<pcre2_code, Freed<pcre2_code_free>> code;
  std::unique_ptr<pcre2_match_data, Freed<pcre2_match_data_free>> match;
  std::unique_ptr<pcre2_match_context, Freed<pcre2_match_context_free>> context;
  std::unique_ptr<pcre2_jit_stack, Freed<pcre2_jit_stack_free>> stack;
  bool machine_code = false;
  std::string where;

  /// The first match at or behind byte `at`, or PCRE2's error.
  int find(std::string_view text, std::size_t at) const {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    if (machine_code) {
      const int found =
          pcre2_jit_match(code.get(), subject, text.size(), at, 0, match.get(), context.get());
      if (found != PCRE2_ERROR_JIT_STACKLIMIT) return found;
    }
    return pcre2_match(code.get(), subject, text.size(), at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                       match.get(), context.get());
  }
};

TextPattern::TextPattern(Kind kind, const std::string& pattern, const std::string& where) {
  if (kind == Kind::text && !pattern.empty()) {
    text_ = pattern;
    return;
  }
  compiled_ = std::make_unique<Compiled>();
  compiled_->where = where;
  const std::string translated = to_pcre2(pattern, where);
  constexpr std::uint32_t kOptions = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE;
  const std::unique_ptr<pcre2_compile_context, Compiled::Freed<pcre2_compile_context_free>> context(
      pcre2_compile_context_create(nullptr));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  std::size_t offset = 0;
  compiled_->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()),
                                      translated.size(), kOptions, &error, &offset, context.get()));
  if (!compiled_->code) {
    throw BadRequest(where + ": " + message_of(error) + " in the pattern " + pattern);
  }
  // Without a compiler for this processor the interpreter matches, which is slower.
  compiled_->machine_code = pcre2_jit_compile(compiled_->code.get(), PCRE2_JIT_COMPLETE) == 0;
  compiled_->match.reset(pcre2_match_data_create_from_pattern(compiled_->code.get(), nullptr));
  compiled_->context.reset(pcre2_match_context_create(nullptr));
  constexpr std::size_t kLeastStack = std::size_t{64} << 10, kMostStack = std::size_t{16} << 20;
  if (compiled_->machine_code) {
    compiled_->stack.reset(pcre2_jit_stack_create(kLeastStack, kMostStack, nullptr));
  }
  check(compiled_->match != nullptr && compiled_->context != nullptr, "there is room for a match");
  if (compiled_->stack) {
    pcre2_jit_stack_assign(compiled_->context.get(), nullptr, compiled_->stack.get());
  }
}

TextPattern::~TextPattern() = default;
TextPattern::TextPattern(TextPattern&&) noexcept = default;

void TextPattern::find_text(std::string_view text, const Match& match) const {
  for (std::size_t at = text.find(text_); at != std::string_view::npos;
       at = text.find(text_, at + text_.size())) {
    match(at, at + text_.size());
  }
}

void TextPattern::find(std::string_view text, const Match& match) const {
  if (!compiled_) return find_text(text, match);
  std::optional<std::size_t> last_end;
  for (std::size_t at = 0; at <= text.size();) {
    const int found = compiled_->find(text, at);
    if (found == PCRE2_ERROR_NOMATCH) return;
    if (found < 0) throw BadRequest(compiled_->where + ": matching failed: " + message_of(found));
    const std::size_t* ends = pcre2_get_ovector_pointer(compiled_->match.get());
    const std::size_t begin = ends[0], end = ends[1];
    // An empty match directly behind another is passed over, as the crate onig does it.
    if (begin == end && last_end == end) {
      const auto point = sim::code_point_at(text, at);
      at += point ? point->bytes : 1;
      continue;
    }
    last_end = at = end;
    match(begin, end);
  }
}

}  // namespace sluice::engine
