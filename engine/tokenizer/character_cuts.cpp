// Pre-tokenizers that cut by kinds of characters.
#include "engine/tokenizer/json_step.hpp"
#include "engine/tokenizer/pre_tokenizer.hpp"
#include "engine/tokenizer/split_behavior.hpp"
#include "engine/tokenizer/unicode_properties.hpp"
#include "sim/utf8.hpp"

namespace sluice::engine {
namespace {

/// Calls `take` with each character and the bytes [begin, end) that it has in `text`.
template <class Take>
void each_cut_character(std::string_view text, const Take& take) {
  for (std::size_t at = 0; at < text.size();) {
    const auto point = sim::code_point_at(text, at);
    const std::size_t bytes = point ? point->bytes : 1;
    take(point ? point->value : U'\uFFFD', at, at + bytes);
    at += bytes;
  }
}

/// Cuts at each character of a kind.
template <class Kind>
class CharacterCut : public PreTokenizer {
 public:
  CharacterCut(Kind kind, SplitBehavior behavior) : kind_(kind), behavior_(behavior) {}

  void cut(const Piece& piece, Places, const PieceSink& sink) const override {
    Splitting splitting(piece, behavior_, false, sink);
    each_cut_character(piece.text, [&](char32_t value, std::size_t begin, std::size_t end) {
      if (kind_(value)) splitting.match(begin, end);
    });
    splitting.finish();
  }

 private:
  Kind kind_;
  SplitBehavior behavior_;
};

template <class Kind>
std::unique_ptr<PreTokenizer> cut_at(Kind kind, SplitBehavior behavior) {
  return std::make_unique<CharacterCut<Kind>>(kind, behavior);
}

/// Cuts where the kind of characters changes, and drops the pieces of kind 0.
template <class Kind>
class RunCut : public PreTokenizer {
 public:
  explicit RunCut(Kind kind) : kind_(kind) {}

  void cut(const Piece& piece, Places, const PieceSink& sink) const override {
    int last = 0;
    std::size_t begin = 0;
    each_cut_character(piece.text, [&](char32_t value, std::size_t at, std::size_t) {
      const int kind = kind_(value);
      if (kind == last) return;
      if (last != 0) sink(piece.part(begin, at));
      begin = at;
      last = kind;
    });
    if (last != 0) sink(piece.part(begin, piece.text.size()));
  }

 private:
  Kind kind_;
};

template <class Kind>
std::unique_ptr<PreTokenizer> cut_runs(Kind kind) {
  return std::make_unique<RunCut<Kind>>(kind);
}

/// Whitespace's pattern \w+|[^\w\s]+.
int word_kind(char32_t value) {
  if (is_word(value)) return 1;
  return is_white_space(value) ? 0 : 2;
}

/// UnicodeScripts: cuts where the script changes. Japanese is one script; spaces and characters
/// without a script go with what stands before them, and at the very beginning they are dropped.
class ScriptCut : public PreTokenizer {
 public:
  void cut(const Piece& piece, Places, const PieceSink& sink) const override {
    static const int han = script_of(U'\u4E00'), hiragana = script_of(U'\u3042'),
                     katakana = script_of(U'\u30A2');
    int last = 0;
    std::size_t begin = 0;
    each_cut_character(piece.text, [&](char32_t value, std::size_t at, std::size_t) {
      int script = value == U' ' ? 0 : script_of(value);
      if (script == hiragana || script == katakana || value == U'\u30FC') script = han;
      if (script == 0 || script == last) return;
      if (last != 0) sink(piece.part(begin, at));
      begin = at;
      last = script;
    });
    if (last != 0) sink(piece.part(begin, piece.text.size()));
  }
};

class FixedLength : public PreTokenizer {
 public:
  explicit FixedLength(std::int64_t length) : length_(length) {}

  void cut(const Piece& piece, Places, const PieceSink& sink) const override {
    std::size_t begin = 0;
    std::int64_t count = 0;
    each_cut_character(piece.text, [&](char32_t, std::size_t, std::size_t end) {
      if (++count < length_) return;
      sink(piece.part(begin, end));
      begin = end;
      count = 0;
    });
    if (begin < piece.text.size()) sink(piece.part(begin, piece.text.size()));
  }

 private:
  std::int64_t length_;
};

std::unique_ptr<PreTokenizer> read_fixed_length(const JsonStep& step) {
  const std::int64_t length = step.count("length");
  if (length == 0) step.fail("length must be positive");
  return std::make_unique<FixedLength>(length);
}

std::unique_ptr<PreTokenizer> read_punctuation(const JsonStep& step) {
  const auto behavior = split_behavior(step.text("behavior", "Isolated"));
  if (!behavior) step.fail("behavior \"" + step.text("behavior") + "\" is unknown");
  return cut_at(is_punctuation, *behavior);
}

}  // namespace

std::unique_ptr<PreTokenizer> bert_punctuation() {
  return cut_at(is_punctuation, SplitBehavior::isolated);
}

std::unique_ptr<PreTokenizer> read_character_cut(const JsonStep& step) {
  const std::string& type = step.type();
  if (type == "Digits") {
    return cut_at(is_numeric, step.flag("individual_digits", false) ? SplitBehavior::isolated
                                                                    : SplitBehavior::contiguous);
  }
  if (type == "Punctuation") return read_punctuation(step);
  if (type == "Whitespace") return cut_runs(word_kind);
  if (type == "WhitespaceSplit" || type == "BertPreTokenizer") {
    return cut_at(is_white_space, SplitBehavior::removed);
  }
  if (type == "CharDelimiterSplit") {
    const char32_t delimiter = step.character("delimiter", U' ');
    return cut_at([delimiter](char32_t value) { return value == delimiter; },
                  SplitBehavior::removed);
  }
  if (type == "UnicodeScripts") return std::make_unique<ScriptCut>();
  if (type == "FixedLength") return read_fixed_length(step);
  return nullptr;
}

}  // namespace sluice::engine
