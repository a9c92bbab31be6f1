// The pre-tokenizer ByteLevel: GPT-2's words, and bytes written as letters (tokenizers,
// pre_tokenizers/byte_level.rs).
#include "engine/tokenizer/byte_letters.hpp"
#include "engine/tokenizer/json_step.hpp"
#include "engine/tokenizer/pre_tokenizer.hpp"
#include "engine/tokenizer/split_behavior.hpp"
#include "sim/utf8.hpp"

namespace sluice::engine {
namespace {

/// Pattern by which ByteLevel cuts if asked to; GPT-2's own.
constexpr const char* kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class ByteLevel : public PreTokenizer {
 public:
  ByteLevel(bool prefixes, std::optional<TextPattern> pattern)
      : prefixes_(prefixes), pattern_(std::move(pattern)) {}

  void cut(const Piece& piece, Places places, const PieceSink& sink) const override {
    if (!prefixes_ || piece.text.starts_with(' ')) return split(piece, places, sink);
    // The space takes the place of the first character.
    const std::string text = " " + std::string(piece.text);
    std::vector<Place> placed;
    if (places == Places::kept) {
      placed.reserve(text.size());
      const auto first = sim::code_point_at(piece.text, 0);
      placed.push_back(place_of(piece, 0, first ? first->bytes : 1));
      for (std::size_t at = 0; at < piece.text.size(); ++at) {
        placed.push_back(place_of(piece, at, at + 1));
      }
    }
    split({text, piece.begin, placed.empty() ? nullptr : placed.data()}, places, sink);
  }
  bool changes() const override { return prefixes_ || letters_; }
  bool leave_bytes() override {
    letters_ = false;
    return true;
  }

 private:
  void split(const Piece& piece, Places places, const PieceSink& sink) const {
    const PieceSink lettered = [&](const Piece& each) { write(each, places, sink); };
    const PieceSink& next = letters_ ? lettered : sink;
    if (!pattern_) return next(piece);
    Splitting splitting(piece, SplitBehavior::isolated, false, next);
    pattern_->find(piece.text,
                   [&](std::size_t begin, std::size_t end) { splitting.match(begin, end); });
    splitting.finish();
  }

  static void write(const Piece& piece, Places places, const PieceSink& sink) {
    std::string text;
    std::vector<Place> placed;
    for (std::size_t at = 0; at < piece.text.size(); ++at) {
      const std::string& letter = byte_letters()[static_cast<unsigned char>(piece.text[at])];
      text += letter;
      if (places == Places::kept) {
        placed.insert(placed.end(), letter.size(), place_of(piece, at, at + 1));
      }
    }
    sink({text, piece.begin, placed.empty() ? nullptr : placed.data()});
  }

  bool prefixes_;
  std::optional<TextPattern> pattern_;
  bool letters_ = true;
};

}  // namespace

std::unique_ptr<PreTokenizer> read_byte_level(const JsonStep& step) {
  std::optional<TextPattern> pattern;
  if (step.flag("use_regex", true)) {
    pattern.emplace(TextPattern::Kind::regex, kGpt2Pattern, step.place());
  }
  return std::make_unique<ByteLevel>(step.flag("add_prefix_space", true), std::move(pattern));
}

}  // namespace sluice::engine
