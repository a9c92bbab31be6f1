#include "engine/tokenizer/token_model.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/tokenizer/byte_letters.hpp"
#include "engine/tokenizer/byte_pairs.hpp"
#include "engine/tokenizer/json_step.hpp"

namespace sluice::engine {
namespace {

using nlohmann::json;

/// The kind of a model; files from before tokenizers 0.10 do not name it.
std::string kind_of(const JsonStep& model) {
  if (!model.type().empty()) return model.type();
  const auto vocabulary = model.value().find("vocab");
  if (vocabulary != model.value().end() && vocabulary->is_array()) return "Unigram";
  if (model.value().contains("merges")) return "BPE";
  return model.value().contains("continuing_subword_prefix") ? "WordPiece" : "WordLevel";
}

BytePairs::Merges merges_of(const JsonStep& model) {
  const auto given = model.value().find("merges");
  if (given == model.value().end() || !given->is_array()) model.fail("merges must be a list");
  BytePairs::Merges merges;
  merges.reserve(given->size());
  for (const json& each : *given) {
    if (each.is_array() && each.size() == 2 && each[0].is_string() && each[1].is_string()) {
      merges.emplace_back(each[0].get<std::string>(), each[1].get<std::string>());
      continue;
    }
    const std::string both = each.is_string() ? each.get<std::string>() : "";
    const std::size_t space = both.find(' ');
    if (space == std::string::npos || both.find(' ', space + 1) != std::string::npos) {
      model.fail("merges: " + each.dump(-1, ' ', false, json::error_handler_t::replace) +
                 " is not a pair of tokens");
    }
    merges.emplace_back(both.substr(0, space), both.substr(space + 1));
  }
  return merges;
}

}  // namespace

TokenId read_id(const JsonStep& step, const std::string& key, const json& value) {
  constexpr std::int64_t kMost = 0x7fffffff;
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= kMost) {
    step.fail(key + ": " + value.dump(-1, ' ', false, json::error_handler_t::replace) +
              " is not the id of a token");
  }
  return value.get<TokenId>();
}

Vocabulary read_vocabulary(const JsonStep& model) {
  const auto given = model.value().find("vocab");
  if (given == model.value().end() || !given->is_object()) model.fail("vocab must be an object");
  Vocabulary vocabulary;
  vocabulary.reserve(given->size());
  for (const auto& [token, value] : given->items()) {
    vocabulary.emplace(token, read_id(model, "vocab", value));
  }
  return vocabulary;
}

bool can_read_bytes(const JsonStep& model) {
  if (kind_of(model) != "BPE" || !model.text("continuing_subword_prefix", "").empty() ||
      !model.text("end_of_word_suffix", "").empty()) {
    return false;
  }
  // Where every byte has a token, none is unknown.
  const auto& value = model.value();
  const auto vocabulary = value.find("vocab");
  if (vocabulary == value.end() || !vocabulary->is_object()) return false;
  if (std::ranges::all_of(byte_letters(), [&](const std::string& letter) {
        return vocabulary->contains(letter);
      })) {
    return true;
  }
  const auto unknown = value.find("unk_token");
  return (unknown == value.end() || unknown->is_null()) && !model.flag("byte_fallback", false);
}

std::unique_ptr<TokenModel> read_byte_pairs(const JsonStep& model, bool bytes) {
  const auto dropout = model.value().find("dropout");
  if (dropout != model.value().end() && !dropout->is_null() && *dropout != 0) {
    model.fail("dropout is not supported, for it cuts by chance: set it to null");
  }
  BytePairSettings settings{.bytes = bytes,
                            .whole_words = model.flag("ignore_merges", false),
                            .byte_fallback = model.flag("byte_fallback", false),
                            .unknown = std::nullopt,
                            .fuses_unknown = model.flag("fuse_unk", false),
                            .prefix = model.text("continuing_subword_prefix", ""),
                            .suffix = model.text("end_of_word_suffix", "")};
  const auto unknown = model.value().find("unk_token");
  if (unknown != model.value().end() && !unknown->is_null()) {
    settings.unknown = model.text("unk_token");
  }
  return std::make_unique<BytePairs>(read_vocabulary(model), merges_of(model), std::move(settings),
                                     model.place());
}

std::unique_ptr<TokenModel> read_model(const JsonStep& model, bool bytes) {
  const std::string kind = kind_of(model);
  if (kind == "BPE") return read_byte_pairs(model, bytes);
  if (kind == "Unigram") return read_unigram(model);
  if (kind == "WordLevel") return read_word_level(model);
  if (kind == "WordPiece") return read_word_piece(model);
  model.unsupported("BPE, Unigram, WordLevel, WordPiece");
}

}  // namespace sluice::engine
