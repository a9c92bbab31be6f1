#include "engine/chat/special_tokens.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "engine/chat/chat_template.hpp"
#include "engine/chat/folder_json.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using nlohmann::json;
using std::filesystem::path;

constexpr const char* kConfigName = "tokenizer_config.json";
constexpr std::array kNames = {"bos_token", "eos_token", "unk_token", "sep_token",
                               "pad_token", "cls_token", "mask_token"};

/// Special tokens that a tokenizer class of transformers 5.24 has where no file states them.
struct ClassTokens {
  std::string_view prefix;  ///< Beginning of the class's name.
  const char *bos, *eos, *unk, *pad;
};
constexpr std::array kClasses = {
    ClassTokens{"Llama", "<s>", "</s>", "<unk>", nullptr},
    ClassTokens{"CodeLlama", "<s>", "</s>", "<unk>", nullptr},
    ClassTokens{"Qwen2", nullptr, "<|endoftext|>", "<|endoftext|>", "<|endoftext|>"},
    ClassTokens{"Gemma", "<bos>", "<eos>", "<unk>", "<pad>"},
    ClassTokens{"GPT2", "<|endoftext|>", "<|endoftext|>", "<|endoftext|>", nullptr}};

/// Text of a special token, which is a string or an object with `content`.
std::string token_text(const json& token, const std::string& field, const path& file) {
  if (token.is_string()) return token.get<std::string>();
  if (token.is_object() && token.contains("content") && token["content"].is_string()) {
    return token["content"].get<std::string>();
  }
  throw BadRequest(file.string() + ": " + field + ": must be text, or an object with content");
}

/// Takes the tokens that `config` names and `found` lacks; a null names none.
void take_named(const json& config, const path& file, std::map<std::string, bool>& seen,
                SpecialTokens& found) {
  for (const char* name : kNames) {
    const auto token = config.find(name);
    if (token == config.end() || seen[name]) continue;
    seen[name] = true;
    if (token->is_null()) continue;
    std::string text = token_text(*token, name, file);
    if (!text.empty()) found.named[name] = std::move(text);
  }
  const auto more = config.find("additional_special_tokens");
  if (more != config.end() && more->is_array() && found.additional.empty()) {
    for (const json& token : *more) {
      found.additional.push_back(token_text(token, "additional_special_tokens", file));
    }
  }
  const auto extra = config.find("extra_special_tokens");
  if (extra == config.end() || !extra->is_object()) return;
  for (const auto& [name, token] : extra->items()) {
    if (!token.is_null()) found.named[name] = token_text(token, name, file);
  }
}

void take_defaults(const std::string& kind, const std::map<std::string, bool>& seen,
                   SpecialTokens& found) {
  const auto known = std::ranges::find_if(
      kClasses, [&](const ClassTokens& each) { return kind.starts_with(each.prefix); });
  if (known == kClasses.end()) return;
  const auto take = [&](const char* name, const char* text) {
    const auto stated = seen.find(name);
    if (text != nullptr && (stated == seen.end() || !stated->second)) found.named[name] = text;
  };
  take("bos_token", known->bos);
  take("eos_token", known->eos);
  take("unk_token", known->unk);
  take("pad_token", known->pad);
}

/// Adds the special ones of added tokens, which are the values of an object or a list.
void take_added(const json& tokens, SpecialTokens& found) {
  for (const json& token : tokens) {
    if (token.is_object() && token.value("special", json()) == true && token.contains("content") &&
        token["content"].is_string()) {
      found.all.push_back(token["content"].get<std::string>());
    }
  }
}

/// Adds the special ones of tokenizer.json's added_tokens.
void take_tokenizers(const path& folder, SpecialTokens& found) {
  const path file = folder / "tokenizer.json";
  if (!std::filesystem::is_regular_file(file)) return;
  const json tokens = json::parse(whole_text(file), nullptr, false);
  if (tokens.is_object() && tokens.contains("added_tokens")) {
    take_added(tokens["added_tokens"], found);
  }
}

/// The tokens that files name, without `all`; `config` is that of tokenizer_config.json.
SpecialTokens named_tokens(const path& folder, const json& config) {
  SpecialTokens found;
  std::map<std::string, bool> seen;
  take_named(config, folder / kConfigName, seen, found);
  const path map = folder / "special_tokens_map.json";
  take_named(folder_json(map), map, seen, found);
  const auto kind = config.find("tokenizer_class");
  if (kind != config.end() && kind->is_string()) {
    take_defaults(kind->get<std::string>(), seen, found);
  }
  return found;
}

}  // namespace

SpecialTokens read_special_tokens(const path& folder) {
  const json config = folder_json(folder / kConfigName);
  SpecialTokens found = named_tokens(folder, config);
  const auto added = config.find("added_tokens_decoder");
  if (added != config.end() && added->is_object()) take_added(*added, found);
  if (found.all.empty()) take_tokenizers(folder, found);
  for (const auto& [name, text] : found.named) found.all.push_back(text);
  found.all.insert(found.all.end(), found.additional.begin(), found.additional.end());
  std::ranges::sort(found.all);
  found.all.erase(std::unique(found.all.begin(), found.all.end()), found.all.end());
  return found;
}

SpecialTokenNames special_token_names(const path& folder) {
  const SpecialTokens tokens = named_tokens(folder, folder_json(folder / kConfigName));
  const auto text = [&tokens](const char* name) {
    const auto found = tokens.named.find(name);
    return found == tokens.named.end() ? std::nullopt : std::optional(found->second);
  };
  return {text("bos_token"), text("eos_token")};
}

}  // namespace sluice::engine
