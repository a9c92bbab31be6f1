// tokenizer.model of SentencePiece: a ModelProto (google/sentencepiece, sentencepiece_model.proto),
// and what transformers' converters LlamaConverter and GemmaConverter make of it.
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "engine/tokenizer/folder_settings.hpp"
#include "engine/tokenizer/proto_reader.hpp"
#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"
#include "sim/utf8.hpp"

namespace sluice::engine {
namespace {

using nlohmann::json;

enum class PieceKind : std::uint64_t { normal = 1, unknown = 2, control = 3, user_defined = 4 };
constexpr std::uint64_t kUnigramModel = 1, kBpeModel = 2;

struct SentencePiece {
  std::string text;
  double score = 0;
  PieceKind kind = PieceKind::normal;
};

struct SentencePieceFile {
  std::vector<SentencePiece> pieces;
  std::uint64_t model = kUnigramModel;
  std::string unknown = "<unk>";
};

SentencePiece read_piece(ProtoReader reader) {
  SentencePiece piece;
  while (const auto field = reader.next()) {
    if (field->number == 1) piece.text = std::string(field->bytes);
    if (field->number == 2) piece.score = static_cast<double>(field->as_float());
    if (field->number == 3) piece.kind = static_cast<PieceKind>(field->value);
  }
  return piece;
}

SentencePieceFile read_file(const std::filesystem::path& file) {
  const std::string bytes = planner::read_whole_file(file);
  SentencePieceFile model;
  ProtoReader reader(bytes, file.string());
  while (const auto field = reader.next()) {
    if (field->number == 1) model.pieces.push_back(read_piece(reader.inside(*field)));
    if (field->number != 2) continue;
    ProtoReader trainer = reader.inside(*field);
    while (const auto setting = trainer.next()) {
      if (setting->number == 3) model.model = setting->value;
      if (setting->number == 45) model.unknown = std::string(setting->bytes);
    }
  }
  if (model.pieces.size() < 4) {
    throw BadRequest(file.string() + ": is not a model of SentencePiece: it has no pieces");
  }
  return model;
}

/// Bytes at which the characters of `text` begin, and its end.
std::vector<std::size_t> bounds_of(std::string_view text) {
  std::vector<std::size_t> bounds;
  for (std::size_t at = 0; at < text.size();) {
    bounds.push_back(at);
    const auto point = sim::code_point_at(text, at);
    at += point ? point->bytes : 1;
  }
  bounds.push_back(text.size());
  return bounds;
}

/// A pair of pieces that make a third one.
struct PieceMerge {
  double score;
  std::size_t left_length, right_length;  ///< In characters.
  std::int64_t left, right;               ///< Numbers of the pieces.
};

/// Merges that give what SentencePiece does: each way to make a piece of two others, by descending
/// score of the piece (transformers, convert_slow_tokenizer.py, generate_merges).
json merges_of_pieces(const std::vector<SentencePiece>& pieces) {
  std::unordered_map<std::string_view, std::int64_t> numbers;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    numbers[pieces[i].text] = static_cast<std::int64_t>(i);
  }
  std::vector<PieceMerge> merges;
  for (const SentencePiece& piece : pieces) {
    const std::string_view text = piece.text;
    const std::vector<std::size_t> bounds = bounds_of(text);
    const auto first = static_cast<std::ptrdiff_t>(merges.size());
    for (std::size_t i = 1; i + 1 < bounds.size(); ++i) {
      const auto left = numbers.find(text.substr(0, bounds[i]));
      const auto right = numbers.find(text.substr(bounds[i]));
      if (left == numbers.end() || right == numbers.end()) continue;
      merges.push_back({piece.score, i, bounds.size() - 1 - i, left->second, right->second});
    }
    std::ranges::sort(merges.begin() + first, merges.end(), {},
                      [](const PieceMerge& merge) { return std::pair(merge.left, merge.right); });
  }
  std::ranges::stable_sort(merges, [](const PieceMerge& one, const PieceMerge& other) {
    return std::tuple(one.score, one.left_length, one.right_length) >
           std::tuple(other.score, other.left_length, other.right_length);
  });
  json list = json::array();
  for (const PieceMerge& merge : merges) {
    list.push_back({pieces[static_cast<std::size_t>(merge.left)].text,
                    pieces[static_cast<std::size_t>(merge.right)].text});
  }
  return list;
}

json replace_step(const char* what, const char* by) {
  return {{"type", "Replace"}, {"pattern", {{"String", what}}}, {"content", by}};
}

/// Llama's normalizer and pre-tokenizer: of old, a mark before every text between added tokens;
/// with "legacy": false before the first alone.
void set_llama_steps(const FolderSettings& settings, json& document) {
  const bool prefix = settings.flag("add_prefix_space", true);
  json decoders = {replace_step("\u2581", " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}};
  if (prefix) {
    decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  document["decoder"] = {{"type", "Sequence"}, {"decoders", decoders}};
  if (!settings.flag("legacy", true)) {
    document["pre_tokenizer"] = {{"type", "Metaspace"},
                                 {"replacement", "\u2581"},
                                 {"prepend_scheme", prefix ? "first" : "never"},
                                 {"split", false}};
    return;
  }
  json steps = json::array();
  if (prefix) steps.push_back({{"type", "Prepend"}, {"prepend", "\u2581"}});
  steps.push_back(replace_step(" ", "\u2581"));
  document["normalizer"] = {{"type", "Sequence"}, {"normalizers", steps}};
}

void set_gemma_steps(json& document) {
  document["normalizer"] = replace_step(" ", "\u2581");
  document["pre_tokenizer"] = {{"type", "Split"},
                               {"pattern", {{"String", " "}}},
                               {"behavior", "MergedWithPrevious"},
                               {"invert", false}};
  document["decoder"] = {
      {"type", "Sequence"},
      {"decoders", {replace_step("\u2581", " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}}}};
}

}  // namespace

bool converts_sentencepiece(const std::string& tokenizer_class) {
  return tokenizer_class == "LlamaTokenizer" || tokenizer_class == "CodeLlamaTokenizer" ||
         tokenizer_class == "GemmaTokenizer";
}

json from_sentencepiece(const std::filesystem::path& folder) {
  const FolderSettings settings(folder);
  const std::filesystem::path file = folder / "tokenizer.model";
  SentencePieceFile model = read_file(file);
  const bool gemma = settings.tokenizer_class() == "GemmaTokenizer";
  for (std::size_t i = 0; i < 3; ++i) model.pieces[i].score = 0;
  const auto is = [](const char* text) {
    return [text](const SentencePiece& piece) { return piece.text == text; };
  };
  if (gemma && std::ranges::none_of(model.pieces, is("\t"))) {
    // Older files lack the tab, which stands in the place of its byte.
    const auto tab = std::ranges::find_if(model.pieces, is("<0x09>"));
    if (tab != model.pieces.end()) *tab = {"\t", 0, PieceKind::normal};
  }
  json document;
  json known = json::array();
  if (model.model == kBpeModel) {
    json vocabulary = json::object();
    for (std::size_t i = 0; i < model.pieces.size(); ++i) vocabulary[model.pieces[i].text] = i;
    document["model"] = {{"type", "BPE"},
                         {"unk_token", model.unknown},
                         {"fuse_unk", true},
                         {"byte_fallback", true},
                         {"vocab", std::move(vocabulary)},
                         {"merges", merges_of_pieces(model.pieces)}};
  } else if (model.model == kUnigramModel) {
    json vocabulary = json::array();
    for (const SentencePiece& piece : model.pieces) vocabulary.push_back({piece.text, piece.score});
    document["model"] = {{"type", "Unigram"},
                         {"unk_id", gemma ? 3 : 0},
                         {"byte_fallback", true},
                         {"vocab", std::move(vocabulary)}};
  } else {
    throw BadRequest(file.string() + ": is neither a BPE nor a unigram model");
  }
  for (std::size_t i = 0; i < model.pieces.size(); ++i) {
    const SentencePiece& piece = model.pieces[i];
    if (piece.kind != PieceKind::control && piece.kind != PieceKind::user_defined) continue;
    const bool special =
        piece.kind == PieceKind::control ||
        (gemma && (piece.text == "<start_of_turn>" || piece.text == "<end_of_turn>"));
    known.push_back(
        {{"id", i}, {"content", piece.text}, {"normalized", false}, {"special", special}});
  }
  if (gemma) {
    set_gemma_steps(document);
  } else {
    set_llama_steps(settings, document);
  }
  document["added_tokens"] = settings.added_tokens(std::move(known));
  const std::string begin = settings.special_token("bos_token").value_or(gemma ? "<bos>" : "<s>");
  const std::string end = settings.special_token("eos_token").value_or(gemma ? "<eos>" : "</s>");
  if (settings.flag("add_bos_token", true)) document["around"]["before"] = begin;
  if (settings.flag("add_eos_token", false)) document["around"]["after"] = end;
  return document;
}

}  // namespace sluice::engine
