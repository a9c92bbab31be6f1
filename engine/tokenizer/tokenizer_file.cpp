// Reader of tokenizer.json, with a clear one-line refusal of everything that is not supported.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/model_files/strict_json.hpp"
#include "engine/tokenizer/json_step.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using nlohmann::json;

constexpr int kLevels = 32;

class TokenizerReader {
 public:
  TokenizerReader(const json& root, const std::string& where) : root_(root), where_(where) {}

  TokenizerParts read() {
    if (!root_.is_object()) throw BadRequest(where_ + ": is not a JSON object");
    TokenizerParts parts;
    if (const auto step = step_of("normalizer")) read_normalizer(*step, parts.normalizers);
    if (const auto step = step_of("pre_tokenizer")) {
      read_pre_tokenizer(*step, parts.pre_tokenizers);
    }
    if (const auto step = step_of("decoder")) {
      read_decoder(*step, parts.decoders);
    } else {
      parts.spaces_between = true;
    }
    const auto model = step_of("model");
    if (!model) throw BadRequest(where_ + ": model: is missing");
    const bool bytes = can_read_bytes(*model) && !parts.pre_tokenizers.empty() &&
                       parts.pre_tokenizers.back()->leave_bytes();
    parts.model = read_model(*model, bytes);
    read_added(parts);
    if (const auto step = step_of("post_processor")) read_post(*step, parts);
    if (const auto step = step_of("around")) {
      if (step->value().contains("before")) parts.before = {id_of(step->text("before"), parts)};
      if (step->value().contains("after")) parts.after = {id_of(step->text("after"), parts)};
    }
    return parts;
  }

 private:
  std::optional<JsonStep> step_of(const char* field) const {
    const auto found = root_.find(field);
    if (found == root_.end() || found->is_null()) return std::nullopt;
    return std::optional<JsonStep>(std::in_place, *found, where_, field);
  }

  void read_added(TokenizerParts& parts) const {
    const auto found = root_.find("added_tokens");
    if (found == root_.end() || found->is_null()) return;
    if (!found->is_array()) throw BadRequest(where_ + ": added_tokens: must be a list");
    for (const json& each : *found) {
      const JsonStep step(each, where_,
                          "added_tokens[" + std::to_string(&each - &found->front()) + "]");
      const bool special = step.flag("special", false);
      if (step.flag("if_known", false) && !knows(parts, step.text("content"))) continue;
      add(parts,
          {.content = step.text("content"),
           .special = special,
           .normalized = step.flag("normalized", !special),
           .single_word = step.flag("single_word", false),
           .takes_left = step.flag("lstrip", false),
           .takes_right = step.flag("rstrip", false)},
          step.flag("replaces", false) ? Again::replaces : Again::in_file);
    }
  }

  /// How a token comes that is added already: in the file again, where the library keeps whether
  /// it is normalized, or from a file beside it, which replaces its flags.
  enum class Again { in_file, replaces };

  /// Adds a token with the id that the library gives it, whatever the file says: that of the
  /// vocabulary, else the next free one.
  static void add(TokenizerParts& parts, AddedToken token, Again again) {
    if (token.content.empty()) return;
    const auto known = std::ranges::find(parts.added, token.content, &AddedToken::content);
    if (known != parts.added.end()) {
      token.id = known->id;
      if (again == Again::in_file) token.normalized = known->normalized;
      token.special = token.special || known->special;
      *known = std::move(token);
      return;
    }
    const Vocabulary& vocabulary = parts.model->vocabulary();
    if (const auto found = vocabulary.find(token.content); found != vocabulary.end()) {
      token.id = found->second;
    } else {
      token.id = static_cast<TokenId>(vocabulary.size());
      for (const AddedToken& each : parts.added) token.id = std::max(token.id, each.id + 1);
    }
    parts.added.push_back(std::move(token));
  }

  /// Whether a text is a token already, of the vocabulary or added.
  static bool knows(const TokenizerParts& parts, const std::string& content) {
    const auto added = std::ranges::find(parts.added, content, &AddedToken::content);
    return added != parts.added.end() || parts.model->vocabulary().contains(content);
  }

  TokenId id_of(const std::string& token, const TokenizerParts& parts) const {
    const auto added = std::ranges::find(parts.added, token, &AddedToken::content);
    if (added != parts.added.end()) return added->id;
    const auto found = parts.model->vocabulary().find(token);
    if (found != parts.model->vocabulary().end()) return found->second;
    throw BadRequest(where_ + ": the special token \"" + token + "\" is not in the vocabulary");
  }

  /// Reads a post-processor. One behind another puts its tokens around those of the first. What
  /// ByteLevel and the like do with offsets changes no ids.
  void read_post(const JsonStep& step, TokenizerParts& parts) const {
    if (step.type() == "Sequence") {
      for (const JsonStep& each : step.steps("processors")) read_post(each, parts);
    } else if (step.type() == "TemplateProcessing") {
      read_template(step, parts);
    } else if (step.type() == "RobertaProcessing" || step.type() == "BertProcessing") {
      parts.before.insert(parts.before.begin(), pair_id(step, "cls"));
      parts.after.push_back(pair_id(step, "sep"));
    } else if (step.type() != "ByteLevel") {
      step.unsupported(
          "BertProcessing, ByteLevel, RobertaProcessing, TemplateProcessing, Sequence");
    }
  }

  /// The id in a pair of a token and its id.
  static TokenId pair_id(const JsonStep& step, const char* key) {
    const auto found = step.value().find(key);
    if (found == step.value().end() || !found->is_array() || found->size() != 2) {
      step.fail(std::string(key) + " must be a token and its id");
    }
    return read_id(step, key, found->at(1));
  }

  static void read_template(const JsonStep& step, TokenizerParts& parts) {
    const auto single = step.value().find("single");
    if (single == step.value().end() || !single->is_array()) step.fail("single must be a list");
    std::vector<TokenId> before, after;
    bool behind = false;
    for (const json& each : *single) {
      if (!each.is_object()) step.fail("single must hold objects");
      if (each.contains("Sequence")) {
        if (behind) step.fail("a text twice in single is not supported");
        behind = true;
      } else if (each.contains("SpecialToken")) {
        const JsonStep token(each.at("SpecialToken"), step.place(), "single: SpecialToken");
        append_ids(token.text("id"), step, behind ? after : before);
      } else {
        step.fail("single must hold Sequence and SpecialToken alone");
      }
    }
    parts.before.insert(parts.before.begin(), before.begin(), before.end());
    parts.after.insert(parts.after.end(), after.begin(), after.end());
  }

  static void append_ids(const std::string& name, const JsonStep& step, std::vector<TokenId>& ids) {
    const json known = step.value().value("special_tokens", json::object());
    if (!known.is_object() || !known.contains(name) || !known.at(name).is_object() ||
        !known.at(name).contains("ids") || !known.at(name).at("ids").is_array()) {
      step.fail("special_tokens: \"" + name + "\" has no ids");
    }
    for (const json& each : known.at(name).at("ids")) {
      ids.push_back(read_id(step, "special_tokens", each));
    }
  }

  const json& root_;
  const std::string& where_;
};

}  // namespace

TokenizerParts read_tokenizer(const std::string& json_text, const std::string& where) {
  return read_tokenizer(parse_strict_json(json_text, where, kLevels), where);
}

TokenizerParts read_tokenizer(const json& document, const std::string& where) {
  return TokenizerReader(document, where).read();
}

}  // namespace sluice::engine
