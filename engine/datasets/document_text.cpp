#include "engine/datasets/document_text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/datasets/example_file.hpp"
#include "engine/model_files/written_file.hpp"
#include "planner/files/hash.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using planner::Packing;

/// Version of the cache's contents: to be increased whenever equal files would give other tokens.
constexpr std::int64_t kDocumentVersion = 1;

std::string tokens_hash(const DocumentText::Source& source) {
  const bool chat = source.format.conversations();
  return planner::CanonicalText("sluice/documents")
      .add("version", kDocumentVersion)
      .add("records", read_record(source.examples).sha256)
      .add("tokenizer", read_record(source.tokenizer).sha256)
      .add("format", source.format.canonical())
      .add("template", chat ? source.chat.canonical() : source.end_of_text.value_or(""))
      .hash();
}

/// Reads the examples and passes on the tokens of each.
void make_documents(const DocumentText::Source& source, const DocumentCache::AddDocument& add,
                    const TextProgress& progress) {
  Tokenizer tokenizer = Tokenizer::from_file(source.tokenizer);
  std::optional<TokenId> end;
  if (source.end_of_text) {
    end = tokenizer.find(*source.end_of_text);
    if (!end) {
      throw BadRequest(source.tokenizer.string() + ": has no token \"" + *source.end_of_text +
                       "\", the eos_token of tokenizer_config.json");
    }
  }
  const auto text_tokens = [&](const std::string& text, const std::string& where) {
    try {
      std::vector<TokenId> ids = tokenizer.encode(text, Tokenizer::SpecialTokens::around);
      if (end && (ids.empty() || ids.back() != *end)) ids.push_back(*end);
      return ids;
    } catch (const BadRequest& error) {
      throw BadRequest(where + ": " + source.format.text + ": " + error.what());
    }
  };
  read_examples(
      source.examples,
      [&](const nlohmann::json& object, const std::string& where) {
        const Example example = read_example(object, source.format, where);
        if (const auto* text = std::get_if<std::string>(&example)) {
          add(text_tokens(*text, where));
        } else {
          const std::vector<Rendered> rendered =
              source.chat.render({&std::get<Conversation>(example), 1});
          if (!rendered[0].left_out.empty()) {
            throw BadRequest(where + ": " + rendered[0].left_out);
          }
          add(learnt_tokens(tokenizer, rendered[0].pieces, where));
        }
        return Reading::goes_on;
      },
      progress);
}

}  // namespace

DocumentText::DocumentText(const Source& source, Packing packing, std::int64_t seq_len,
                           std::int64_t seed, const TextProgress& progress)
    : WindowedText(seq_len, seed),
      source_(source),
      packing_(packing),
      tokens_hash_(tokens_hash(source)),
      layout_(packing, seq_len) {
  cache_ = std::make_unique<DocumentCache>(
      source.cache / (tokens_hash_ + ".documents"),
      [&](const DocumentCache::AddDocument& add) { make_documents(source, add, progress); });
  for (const LearntToken token : cache_->tokens()) {
    vocabulary_ = std::max<std::int64_t>(vocabulary_, id_of(token) + 1);
  }
  if (packing == Packing::stream) {
    cut(source.examples, std::ssize(cache_->tokens()), "tokens");
    leave_out(source.examples, [this](std::int64_t window) {
      const auto targets =
          cache_->tokens().subspan(static_cast<std::size_t>(window * this->seq_len()) + 1,
                                   static_cast<std::size_t>(this->seq_len()));
      return std::ranges::any_of(targets, is_learnt);
    });
  } else {
    cut_pieces();
  }
}

void DocumentText::add_pieces(std::int64_t document, std::vector<DocumentPiece>& pieces) {
  std::int64_t first = cache_->start(document);
  std::int64_t places = cache_->start(document + 1) - first - 1;
  if (!source_.format.conversations()) {
    for (; places > 0; first += seq_len(), places -= seq_len()) {
      pieces.push_back({first, std::min(places, seq_len())});
    }
    return;
  }
  const bool too_long = places > seq_len();
  places = std::min(places, seq_len());
  const auto targets = places < 1 ? std::span<const LearntToken>()
                                  : cache_->tokens().subspan(static_cast<std::size_t>(first) + 1,
                                                             static_cast<std::size_t>(places));
  if (std::ranges::none_of(targets, is_learnt)) {
    ++left_out_;
    return;
  }
  cut_off_ += too_long ? 1 : 0;
  pieces.push_back({first, places});
}

void DocumentText::cut_pieces() {
  std::vector<std::vector<DocumentPiece>> documents;
  for (std::int64_t document = 0; document < cache_->documents(); ++document) {
    std::vector<DocumentPiece> pieces;
    add_pieces(document, pieces);
    if (!pieces.empty()) documents.push_back(std::move(pieces));
  }
  if (documents.size() < 2) {
    throw BadRequest("data: " + source_.examples.string() + " holds " +
                     std::to_string(documents.size()) + " documents to learn within " +
                     std::to_string(seq_len() + 1) +
                     " tokens, and training with validation needs two: give more, or a larger "
                     "seq_len");
  }
  const std::size_t validation = std::max<std::size_t>(1, documents.size() / 20);
  const auto joined = [&documents](std::size_t begin, std::size_t end) {
    std::vector<DocumentPiece> all;
    for (std::size_t i = begin; i < end; ++i) {
      all.insert(all.end(), documents[i].begin(), documents[i].end());
    }
    return all;
  };
  const std::size_t training = documents.size() - validation;
  const std::int64_t trained = layout_.add(joined(0, training));
  set_windows(trained, layout_.add(joined(training, documents.size())),
              std::ssize(cache_->tokens()));
}

void DocumentText::read_piece(const DocumentPiece& piece, std::int32_t* inputs,
                              std::int32_t* targets) const {
  const LearntToken* token = cache_->tokens().data() + piece.first;
  for (std::int64_t i = 0; i < piece.places; ++i) {
    inputs[i] = id_of(token[i]);
    targets[i] = is_learnt(token[i + 1]) ? token[i + 1] : kMaskedTarget;
  }
}

void DocumentText::read_window(std::int64_t window, std::int32_t* inputs, std::int32_t* targets) {
  if (packing_ == Packing::stream) {
    return read_piece({window * seq_len(), seq_len()}, inputs, targets);
  }
  layout_.fill(
      window, inputs, targets,
      [this](const DocumentPiece& piece, std::int32_t* into_inputs, std::int32_t* into_targets) {
        read_piece(piece, into_inputs, into_targets);
      });
}

std::string DocumentText::hash() const {
  planner::CanonicalText text("sluice/sequences");
  text.add("documents", tokens_hash_).add("packing", planner::to_string(packing_));
  if (left_out_windows() > 0) text.add("windows_left_out", left_out_windows());
  return text.hash();
}

std::optional<std::string> DocumentText::hash_of_all_windows() const {
  if (left_out_windows() == 0) return std::nullopt;
  return planner::CanonicalText("sluice/sequences")
      .add("documents", tokens_hash_)
      .add("packing", planner::to_string(packing_))
      .hash();
}

double DocumentText::unigram_entropy() const {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(vocabulary_));
  for (const LearntToken token : cache_->tokens()) {
    if (is_learnt(token)) ++counts[static_cast<std::size_t>(token)];
  }
  return entropy_of(counts);
}

std::optional<PackedSequences> DocumentText::if_packed() const {
  if (packing_ != Packing::off) return std::nullopt;
  const auto training = static_cast<std::size_t>(training_windows());
  const std::span<const DocumentPiece> pieces = layout_.pieces();
  return PackedSequences{.training = packed_sequences(pieces.first(training), seq_len()),
                         .validation = packed_sequences(pieces.subspan(training), seq_len())};
}

std::int64_t DocumentText::used_places() const {
  return packing_ == Packing::stream ? WindowedText::used_places() : layout_.places();
}

std::string DocumentText::description() const {
  const bool chat = source_.format.conversations();
  std::string text = std::to_string(cache_->documents()) +
                     (chat ? " conversations of " : " documents of ") + source_.examples.string() +
                     " by " + source_.tokenizer.string();
  if (chat) text += ", chat template " + source_.chat.name();
  if (packing_ == Packing::stream) {
    text += "; " + std::to_string(tokens()) + " in a stream";
    if (left_out_windows() > 0) {
      text += "; " + std::to_string(left_out_windows()) + " of " +
              std::to_string(training_windows() + validation_windows() + left_out_windows()) +
              " windows left out: nothing to learn in them";
    }
    return text;
  }
  const std::int64_t sequences = training_windows() + validation_windows();
  text += "; " + std::to_string(sequences) + " sequences, " + padding_text(*this);
  if (cut_off_ > 0) text += "; " + std::to_string(cut_off_) + " cut off at seq_len";
  if (left_out_ > 0) {
    text += "; " + std::to_string(left_out_) + " left out: nothing to learn within seq_len";
  }
  return text;
}

}  // namespace sluice::engine
