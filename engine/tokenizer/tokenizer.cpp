#include "engine/tokenizer/tokenizer.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"
#include "sim/utf8.hpp"

namespace sluice::engine {
namespace {

constexpr std::int64_t kTellEvery = std::int64_t{1} << 20;

/// `text` after all normalizers.
std::string normalised(const Normalizers& normalizers, const std::string& text) {
  AlignedText aligned(text, 0, Places::kept);
  for (const auto& each : normalizers) each->apply(aligned);
  return std::string(aligned.text());
}

/// The added tokens that are searched for in the text as it is, or in the normalised text. Special
/// ones come first.
std::vector<AddedToken> looked_for(const TokenizerParts& parts, bool normalized) {
  std::vector<AddedToken> tokens;
  for (const bool special : {true, false}) {
    for (const AddedToken& token : parts.added) {
      if (token.normalized != normalized || token.special != special) continue;
      tokens.push_back(token);
      if (normalized) tokens.back().content = normalised(parts.normalizers, token.content);
    }
  }
  return tokens;
}

bool need_places(const TokenizerParts& parts) {
  bool changes = !parts.normalizers.empty();
  for (const auto& each : parts.pre_tokenizers) {
    if (changes && each->needs_places()) return true;
    changes = changes || each->changes();
  }
  return false;
}

}  // namespace

/// One text on its way through the tokenizer.
class Tokenizer::Encoding {
 public:
  Encoding(Tokenizer& tokenizer, std::string_view text, Places places, bool wants_places,
           const TextProgress& progress)
      : owner_(tokenizer),
        parts_(tokenizer.parts_),
        text_(text),
        places_(places),
        wants_places_(wants_places),
        progress_(progress) {
    if (const auto wrong = sim::first_not_utf8(text)) {
      throw BadRequest("text: byte " + std::to_string(*wrong) + " is not UTF-8: convert it");
    }
    for (std::size_t step = 0; step < parts_.pre_tokenizers.size(); ++step) {
      sinks_.emplace_back([this, step](const Piece& piece) { cut(piece, step + 1); });
    }
  }

  void run() {
    owner_.in_text_.split(text_, [&](const TextPart& part) {
      if (part.token) return add(*part.token, {part.begin, part.end});
      plain(part.begin, part.end);
    });
  }

  std::vector<TokenId> ids;         ///< Filled where places are not wanted.
  std::vector<PlacedToken> placed;  ///< Filled where they are.

 private:
  void add(TokenId id, Place place) {
    if (wants_places_) {
      placed.push_back({id, place.begin, place.end});
    } else {
      ids.push_back(id);
    }
  }

  /// Takes text between added tokens that are searched for before normalisation.
  void plain(std::size_t begin, std::size_t end) {
    const std::string_view part = text_.substr(begin, end - begin);
    if (parts_.normalizers.empty()) return normal({part, begin, nullptr});
    AlignedText aligned(part, begin, places_);
    for (const auto& each : parts_.normalizers) each->apply(aligned);
    normal({aligned.text(), begin, aligned.places().empty() ? nullptr : aligned.places().data()});
  }

  void normal(const Piece& whole) {
    owner_.in_normalized_.split(whole.text, [&](const TextPart& part) {
      if (part.token) return add(*part.token, place_of(whole, part.begin, part.end));
      cut(whole.part(part.begin, part.end), 0);
    });
  }

  void cut(const Piece& piece, std::size_t step) {
    if (step < sinks_.size()) {
      return parts_.pre_tokenizers[step]->cut(piece, places_, sinks_[step]);
    }
    if (piece.text.size() > std::numeric_limits<std::uint32_t>::max()) {
      throw BadRequest("text: a piece is longer than 4 GiB: split the file");
    }
    tokens_.clear();
    parts_.model->encode(piece.text, tokens_);
    if (wants_places_) {
      for (const PieceToken& token : tokens_) {
        add(token.id, place_of(piece, token.begin, token.end));
      }
    } else {
      for (const PieceToken& token : tokens_) ids.push_back(token.id);
    }
    tell(std::ssize(piece.text));
  }

  void tell(std::int64_t bytes) {
    done_ += bytes;
    if (!progress_ || done_ - told_ < kTellEvery) return;
    told_ = done_;
    progress_(std::min<std::int64_t>(done_, std::ssize(text_)), std::ssize(text_));
  }

  Tokenizer& owner_;
  const TokenizerParts& parts_;
  std::string_view text_;
  Places places_;
  bool wants_places_;
  const TextProgress& progress_;
  std::vector<PieceSink> sinks_;  ///< Receiver of each pre-tokenizer's pieces.
  std::vector<PieceToken> tokens_;
  std::int64_t done_ = 0, told_ = 0;  ///< Bytes done, counted in the normalised text.
};

Tokenizer::Tokenizer(TokenizerParts parts)
    : parts_(std::move(parts)),
      in_text_(looked_for(parts_, false)),
      in_normalized_(looked_for(parts_, true)),
      needs_places_(need_places(parts_)) {
  for (const auto& [text, id] : parts_.model->vocabulary()) tokens_[id] = {{text}};
  std::set<std::string> special;
  for (const AddedToken& token : parts_.added) {
    if (token.special) special.insert(token.content);
  }
  for (const AddedToken& token : parts_.added) {
    // A token that is found in normalised text decodes to that form.
    std::string text =
        token.normalized ? normalised(parts_.normalizers, token.content) : token.content;
    const bool letters = text != token.content;
    const bool skipped = special.contains(text);
    tokens_[token.id] = {{std::move(text), !letters}, skipped};
  }
}

Tokenizer Tokenizer::from_file(const std::filesystem::path& file) {
  return Tokenizer(read_tokenizer(planner::read_whole_file(file), file.string()));
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, SpecialTokens special,
                                       const TextProgress& progress) {
  Encoding encoding(*this, text, needs_places_ ? Places::kept : Places::dropped, false, progress);
  if (special == SpecialTokens::around) encoding.ids = parts_.before;
  encoding.run();
  if (special == SpecialTokens::around) {
    encoding.ids.insert(encoding.ids.end(), parts_.after.begin(), parts_.after.end());
  }
  return std::move(encoding.ids);
}

std::vector<PlacedToken> Tokenizer::encode_with_offsets(std::string_view text) {
  const TextProgress silent;
  Encoding encoding(*this, text, Places::kept, true, silent);
  encoding.run();
  return std::move(encoding.placed);
}

std::string Tokenizer::decode(std::span<const TokenId> ids, Special special) const {
  DecodedTokens tokens;
  for (const TokenId id : ids) {
    const auto found = tokens_.find(id);
    if (found == tokens_.end()) continue;
    if (special == Special::skipped && found->second.special) continue;
    tokens.push_back(found->second.decoded);
  }
  if (tokens.empty()) return {};
  for (const auto& each : parts_.decoders) each->apply(tokens);
  std::string text;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0 && parts_.spaces_between) text += ' ';
    text += tokens[i].text;
  }
  return text;
}

std::optional<TokenId> Tokenizer::find(const std::string& token) const {
  const auto added = std::ranges::find(parts_.added, token, &AddedToken::content);
  if (added != parts_.added.end()) return added->id;
  const auto found = parts_.model->vocabulary().find(token);
  if (found == parts_.model->vocabulary().end()) return std::nullopt;
  return found->second;
}

}  // namespace sluice::engine
