// Reader of tokenizer.json, with a clear one-line refusal of everything that is not supported.
#include <nlohmann/json.hpp>

#include "engine/model_files/strict_json.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using nlohmann::json;

constexpr int kLevels = 32;
/// Pattern by which ByteLevel cuts if asked to (tokenizers, pre_tokenizers/byte_level.rs; GPT-2's
/// own).
constexpr const char* kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class TokenizerReader {
 public:
  TokenizerReader(const json& root, const std::string& where) : root_(root), where_(where) {}

  TokenizerParts read() {
    if (!root_.is_object()) fail("", "is not a JSON object");
    TokenizerParts parts;
    for (const json& each : steps("normalizer", "normalizers")) {
      if (kind(each, "normalizer") != "NFC") unsupported(each, "normalizer", "NFC");
      parts.composes = true;
    }
    read_pre_tokenizer(parts);
    for (const json& each : steps("decoder", "decoders")) {
      if (kind(each, "decoder") != "ByteLevel") unsupported(each, "decoder", "ByteLevel");
    }
    read_model(parts);
    read_added(parts);
    for (const json& each : steps("post_processor", "processors")) read_post(each, parts);
    return parts;
  }

 private:
  [[noreturn]] void fail(const std::string& field, const std::string& reason) const {
    throw BadRequest(where_ + ": " + (field.empty() ? "" : field + ": ") + reason);
  }
  [[noreturn]] void unsupported(const json& step, const std::string& field,
                                const char* known) const {
    fail(field, "type \"" + kind(step, field) + "\" is not supported; supported: " + known);
  }

  std::string kind(const json& step, const std::string& field) const {
    return text(step, "type", field);
  }
  std::string text(const json& object, const char* key, const std::string& field) const {
    if (!object.is_object() || !object.contains(key) || !object.at(key).is_string()) {
      fail(field, std::string(key) + " must be a string");
    }
    return object.at(key).get<std::string>();
  }
  bool flag(const json& object, const char* key, bool otherwise, const std::string& field) const {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) return otherwise;
    if (!found->is_boolean()) fail(field, std::string(key) + " must be true or false");
    return found->get<bool>();
  }
  TokenId id(const json& value, const std::string& field) const {
    constexpr std::int64_t kMost = 0x7fffffff;
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= kMost) {
      fail(field, value.dump() + " is not the id of a token");
    }
    return value.get<TokenId>();
  }

  /// The given step, or those of a Sequence; none if the field is null.
  std::vector<json> steps(const char* field, const char* inner) const {
    if (!root_.contains(field) || root_.at(field).is_null()) return {};
    const json& step = root_.at(field);
    if (kind(step, field) != "Sequence") return {step};
    if (!step.contains(inner) || !step.at(inner).is_array()) {
      fail(field, std::string(inner) + " must be a list");
    }
    return {step.at(inner).begin(), step.at(inner).end()};
  }

  void read_pre_tokenizer(TokenizerParts& parts) const {
    const std::string field = "pre_tokenizer";
    bool bytes = false;
    for (const json& each : steps("pre_tokenizer", "pretokenizers")) {
      if (bytes) fail(field, "ByteLevel must be the last step");
      const std::string type = kind(each, field);
      if (type == "Split") {
        read_split(each, parts);
      } else if (type == "ByteLevel") {
        bytes = true;
        parts.prefix_space = flag(each, "add_prefix_space", true, field);
        if (parts.prefix_space && !parts.patterns.empty()) {
          fail(field, "add_prefix_space behind a Split is not supported");
        }
        if (flag(each, "use_regex", true, field)) parts.patterns.emplace_back(kGpt2Pattern, where_);
      } else {
        unsupported(each, field, "Split and ByteLevel");
      }
    }
    if (!bytes) fail(field, "only byte-level tokenizers are supported: it has no ByteLevel step");
  }

  void read_split(const json& step, TokenizerParts& parts) const {
    const std::string field = "pre_tokenizer";
    if (text(step, "behavior", field) != "Isolated" || flag(step, "invert", false, field)) {
      fail(field, "of Split only behavior Isolated without invert is supported");
    }
    if (!step.contains("pattern")) fail(field, "pattern is missing");
    parts.patterns.emplace_back(text(step.at("pattern"), "Regex", field + ": pattern"),
                                where_ + ": pre_tokenizer");
  }

  void read_model(TokenizerParts& parts) const {
    const std::string field = "model";
    if (!root_.contains(field)) fail(field, "is missing");
    const json& model = root_.at(field);
    if (!model.is_object()) fail(field, "is not an object");
    // Files from before tokenizers 0.10 do not name the kind.
    const std::string type = model.contains("type") ? kind(model, field) : "BPE";
    if (type != "BPE") unsupported(model, field, "BPE");
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      if (model.contains(key) && model.at(key).is_string() && model.at(key) != "") {
        fail(field, std::string(key) + " is not supported");
      }
    }
    for (const char* key : {"dropout", "unk_token"}) {
      if (model.contains(key) && !model.at(key).is_null()) {
        fail(field, std::string(key) + " is not supported");
      }
    }
    if (flag(model, "byte_fallback", false, field)) fail(field, "byte_fallback is not supported");
    parts.pairs = std::make_unique<BytePairs>(vocabulary(model), merges(model),
                                              flag(model, "ignore_merges", false, field), where_);
  }

  BytePairs::Vocabulary vocabulary(const json& model) const {
    if (!model.contains("vocab") || !model.at("vocab").is_object()) {
      fail("model", "vocab must be an object");
    }
    BytePairs::Vocabulary vocabulary;
    for (const auto& [token, value] : model.at("vocab").items()) {
      vocabulary.emplace(token, id(value, "model: vocab"));
    }
    return vocabulary;
  }

  std::vector<std::pair<std::string, std::string>> merges(const json& model) const {
    const std::string field = "model: merges";
    if (!model.contains("merges") || !model.at("merges").is_array()) fail(field, "must be a list");
    std::vector<std::pair<std::string, std::string>> merges;
    for (const json& each : model.at("merges")) {
      if (each.is_array() && each.size() == 2 && each[0].is_string() && each[1].is_string()) {
        merges.emplace_back(each[0].get<std::string>(), each[1].get<std::string>());
        continue;
      }
      const std::string both = each.is_string() ? each.get<std::string>() : "";
      const std::size_t space = both.find(' ');
      if (space == std::string::npos || both.find(' ', space + 1) != std::string::npos) {
        fail(field, each.dump() + " is not a pair of tokens");
      }
      merges.emplace_back(both.substr(0, space), both.substr(space + 1));
    }
    return merges;
  }

  void read_added(TokenizerParts& parts) const {
    const std::string field = "added_tokens";
    if (!root_.contains(field) || root_.at(field).is_null()) return;
    if (!root_.at(field).is_array()) fail(field, "must be a list");
    for (const json& each : root_.at(field)) {
      AddedToken token{.content = text(each, "content", field)};
      if (!each.contains("id")) fail(field, "id is missing");
      token.id = id(each.at("id"), field);
      token.special = flag(each, "special", false, field);
      token.normalized = flag(each, "normalized", !token.special, field);
      token.takes_left = flag(each, "lstrip", false, field);
      token.takes_right = flag(each, "rstrip", false, field);
      if (flag(each, "single_word", false, field)) {
        fail(field, "\"" + token.content + "\": single_word is not supported");
      }
      parts.added.push_back(std::move(token));
    }
  }

  /// Reads a post-processor: ByteLevel changes only offsets; a template says which tokens are added
  /// around a text.
  void read_post(const json& step, TokenizerParts& parts) const {
    const std::string field = "post_processor";
    const std::string type = kind(step, field);
    if (type == "ByteLevel") return;
    if (type != "TemplateProcessing") unsupported(step, field, "ByteLevel and TemplateProcessing");
    if (!step.contains("single") || !step.at("single").is_array()) {
      fail(field, "single must be a list");
    }
    bool behind = false;
    for (const json& each : step.at("single")) {
      if (!each.is_object()) fail(field, "single must hold objects");
      if (each.contains("Sequence")) {
        if (behind) fail(field, "a text twice in single is not supported");
        behind = true;
      } else if (each.contains("SpecialToken")) {
        add_around(text(each.at("SpecialToken"), "id", field), step,
                   behind ? parts.after : parts.before);
      } else {
        fail(field, "single holds " + each.dump());
      }
    }
  }

  void add_around(const std::string& name, const json& step, std::vector<TokenId>& ids) const {
    const std::string field = "post_processor: special_tokens";
    const json known = step.value("special_tokens", json::object());
    if (!known.is_object() || !known.contains(name) || !known.at(name).is_object() ||
        !known.at(name).contains("ids") || !known.at(name).at("ids").is_array()) {
      fail(field, "\"" + name + "\" has no ids");
    }
    for (const json& each : known.at(name).at("ids")) ids.push_back(id(each, field));
  }

  const json& root_;
  const std::string& where_;
};

}  // namespace

TokenizerParts read_tokenizer(const std::string& json_text, const std::string& where) {
  const json root = parse_strict_json(json_text, where, kLevels);
  return TokenizerReader(root, where).read();
}

}  // namespace sluice::engine
