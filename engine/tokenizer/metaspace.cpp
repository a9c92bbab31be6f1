// The pre-tokenizer Metaspace: spaces become a visible character, which begins each piece
// (tokenizers, pre_tokenizers/metaspace.rs).
#include "engine/tokenizer/json_step.hpp"
#include "engine/tokenizer/pre_tokenizer.hpp"
#include "engine/tokenizer/split_behavior.hpp"
#include "sim/utf8.hpp"

namespace sluice::engine {
namespace {

enum class Prepending { always, first, never };

class Metaspace : public PreTokenizer {
 public:
  Metaspace(char32_t mark, Prepending prepending, bool splits)
      : prepending_(prepending), splits_(splits) {
    sim::append_utf8(mark_, mark);
  }

  void cut(const Piece& piece, Places places, const PieceSink& sink) const override {
    const bool prepends =
        prepending_ != Prepending::never && !begins_with_mark(piece.text) &&
        (prepending_ == Prepending::always || piece.begin == 0);
    Changed changed(piece, places);
    if (prepends) changed.put(mark_, 0, first_length(piece.text));
    for (std::size_t at = 0; at < piece.text.size();) {
      const std::size_t space = std::min(piece.text.find(' ', at), piece.text.size());
      changed.copy(at, space);
      if (space < piece.text.size()) changed.put(mark_, space, space + 1);
      at = space + 1;
    }
    const Piece whole = changed.piece();
    if (!splits_) return sink(whole);
    Splitting splitting(whole, SplitBehavior::merged_with_next, false, sink);
    for (std::size_t at = whole.text.find(mark_); at != std::string_view::npos;
         at = whole.text.find(mark_, at + mark_.size())) {
      splitting.match(at, at + mark_.size());
    }
    splitting.finish();
  }
  bool changes() const override { return true; }
  bool needs_places() const override { return prepending_ == Prepending::first; }

 private:
  /// The changed text of a piece.
  class Changed {
   public:
    Changed(const Piece& piece, Places places) : old_(piece), kept_(places == Places::kept) {
      text_.reserve(piece.text.size() + piece.text.size() / 4 + 4);
    }
    /// Appends `text` in the place of the old bytes [begin, end).
    void put(std::string_view text, std::size_t begin, std::size_t end) {
      text_ += text;
      if (kept_) places_.insert(places_.end(), text.size(), place_of(old_, begin, end));
    }
    void copy(std::size_t begin, std::size_t end) {
      text_.append(old_.text, begin, end - begin);
      if (!kept_) return;
      for (std::size_t at = begin; at < end; ++at) places_.push_back(place_of(old_, at, at + 1));
    }
    [[nodiscard]] Piece piece() const {
      return {text_, old_.begin, kept_ ? places_.data() : nullptr};
    }

   private:
    const Piece& old_;
    bool kept_;
    std::string text_;
    std::vector<Place> places_;
  };

  bool begins_with_mark(std::string_view text) const {
    return text.starts_with(' ') || text.starts_with(mark_);
  }
  static std::size_t first_length(std::string_view text) {
    const auto point = sim::code_point_at(text, 0);
    return point ? point->bytes : 1;
  }

  std::string mark_;
  Prepending prepending_;
  bool splits_;
};

}  // namespace

std::unique_ptr<PreTokenizer> read_metaspace(const JsonStep& step) {
  const std::string scheme = step.text("prepend_scheme", "always");
  Prepending prepending = Prepending::always;
  if (scheme == "first") {
    prepending = Prepending::first;
  } else if (scheme == "never") {
    prepending = Prepending::never;
  } else if (scheme != "always") {
    step.fail("prepend_scheme \"" + scheme + "\" is unknown; known: always, first, never");
  }
  // Files from before tokenizers 0.15 have add_prefix_space alone.
  if (!step.flag("add_prefix_space", true)) prepending = Prepending::never;
  return std::make_unique<Metaspace>(step.character("replacement", U'\u2581'), prepending,
                                     step.flag("split", true));
}

}  // namespace sluice::engine
