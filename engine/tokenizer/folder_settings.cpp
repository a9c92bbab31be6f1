#include "engine/tokenizer/folder_settings.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/model_files/strict_json.hpp"
#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using nlohmann::json;

constexpr int kSettingsLevels = 32;
constexpr std::array kSpecialNames = {"bos_token", "eos_token", "unk_token", "sep_token",
                                      "pad_token", "cls_token", "mask_token"};

/// Class of the tokenizer that transformers has for a model_type; empty for others.
std::string class_of_model(const std::string& type) {
  if (type.starts_with("qwen2") || type.starts_with("qwen3")) return "Qwen2Tokenizer";
  if (type == "gpt2" || type == "gpt_bigcode" || type == "starcoder2" || type == "opt") {
    return "GPT2Tokenizer";
  }
  if (type == "llama" || type == "mistral" || type == "mixtral") return "LlamaTokenizer";
  if (type.starts_with("gemma")) return "GemmaTokenizer";
  return "";
}

std::string text_in(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// A token of a tokenizer.json, of a text or an object with `content`; null for others.
json as_token(const json& value, bool special, bool normalized) {
  json token = {{"id", 0},           {"content", ""},   {"single_word", false},
                {"lstrip", false},   {"rstrip", false}, {"normalized", normalized},
                {"special", special}};
  if (value.is_string()) {
    token["content"] = value;
    return token;
  }
  if (!value.is_object() || text_in(value, "content").empty()) return nullptr;
  for (const char* key : {"content", "single_word", "lstrip", "rstrip", "normalized"}) {
    if (value.contains(key)) token[key] = value[key];
  }
  token["special"] = special || value.value("special", json(false)) == json(true);
  return token;
}

bool has_content(const std::vector<json>& tokens, const json& content) {
  return std::ranges::any_of(tokens, [&](const json& each) { return each["content"] == content; });
}

void add_special(const json& value, std::vector<json>& tokens) {
  json token = as_token(value, true, false);
  if (!token.is_null() && !has_content(tokens, token["content"])) tokens.push_back(token);
}

/// The object in `folder`/`name`, which joins `files`; an empty one if there is no such file.
json object_in(const std::filesystem::path& folder, const char* name,
               std::vector<std::filesystem::path>& files) {
  const std::filesystem::path file = folder / name;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return json::object();
  json document = parse_strict_json(planner::read_whole_file(file), file.string(), kSettingsLevels);
  if (!document.is_object()) throw BadRequest(file.string() + ": must be an object");
  files.push_back(file);
  return document;
}

}  // namespace

struct FolderSettings::Documents {
  json config, special, added;
};

FolderSettings::FolderSettings(const std::filesystem::path& folder) : folder_(folder) {
  documents_ = std::make_shared<const Documents>(
      Documents{.config = object_in(folder, "tokenizer_config.json", files_),
                .special = object_in(folder, "special_tokens_map.json", files_),
                .added = object_in(folder, "added_tokens.json", files_)});
  class_ = text_in(documents_->config, "tokenizer_class");
  if (class_.empty()) {
    class_ = class_of_model(text_in(object_in(folder, "config.json", files_), "model_type"));
  }
  if (class_.ends_with("Fast")) class_.resize(class_.size() - 4);
}

bool FolderSettings::flag(const char* key, bool otherwise) const {
  const auto found = documents_->config.find(key);
  if (found == documents_->config.end() || !found->is_boolean()) return otherwise;
  return found->get<bool>();
}

std::optional<std::string> FolderSettings::special_token(const char* name) const {
  for (const json* source : {&documents_->config, &documents_->special}) {
    const auto found = source->find(name);
    if (found == source->end()) continue;
    if (found->is_string()) return found->get<std::string>();
    if (found->is_object() && !text_in(*found, "content").empty())
      return text_in(*found, "content");
  }
  return std::nullopt;
}

std::vector<json> FolderSettings::special_tokens() const {
  std::vector<json> tokens;
  for (const json* source : {&documents_->config, &documents_->special}) {
    for (const char* name : kSpecialNames) {
      if (source->contains(name)) add_special(source->at(name), tokens);
    }
    const auto more = source->find("additional_special_tokens");
    if (more == source->end() || !more->is_array()) continue;
    for (const json& each : *more) add_special(each, tokens);
  }
  // Defaults of the classes in transformers.
  if (class_ == "GPT2Tokenizer" || class_ == "Qwen2Tokenizer") {
    if (!special_token("eos_token")) add_special("<|endoftext|>", tokens);
  }
  return tokens;
}

bool FolderSettings::states_decoder() const {
  const auto decoder = documents_->config.find("added_tokens_decoder");
  return decoder != documents_->config.end() && decoder->is_object();
}

std::vector<json> FolderSettings::numbered_tokens(const std::vector<json>& special) const {
  std::map<std::int64_t, json> by_id;
  if (states_decoder()) {
    for (const auto& [id, value] : documents_->config["added_tokens_decoder"].items()) {
      if (value.is_object() && value.value("content", json()) == "") continue;
      json token = as_token(value, false, true);
      if (id.empty() || id.size() > 9 ||
          !std::ranges::all_of(id, [](unsigned char c) { return std::isdigit(c) != 0; }) ||
          token.is_null()) {
        throw BadRequest((folder_ / "tokenizer_config.json").string() +
                         ": added_tokens_decoder: \"" + id + "\" is not an id with its token");
      }
      by_id[std::stoll(id)] = std::move(token);
    }
  } else {
    for (const auto& [content, id] : documents_->added.items()) {
      if (!id.is_number_unsigned()) {
        throw BadRequest((folder_ / "added_tokens.json").string() + ": \"" + content +
                         "\" has no id");
      }
      by_id[id.get<std::int64_t>()] = as_token(content, false, true);
    }
  }
  std::vector<json> tokens;
  for (auto& [id, token] : by_id) {
    if (has_content(special, token["content"])) token["special"] = true;
    token["id"] = id;
    tokens.push_back(std::move(token));
  }
  return tokens;
}

json FolderSettings::added_tokens(json known) const {
  const std::vector<json> special = special_tokens();
  std::vector<json> tokens(known.begin(), known.end());
  for (const json& token : numbered_tokens(special)) {
    if (!has_content(tokens, token["content"])) tokens.push_back(token);
  }
  for (const json& token : special) {
    if (!has_content(tokens, token["content"])) tokens.push_back(token);
  }
  return tokens;
}

std::vector<json> FolderSettings::stated_tokens() const {
  const std::vector<json> special = special_tokens();
  std::vector<json> tokens = numbered_tokens(special);
  for (json& token : tokens) {
    // As in transformers, a token without a special use of added_tokens.json is normalized.
    if (!states_decoder()) token["normalized"] = token["special"] == false;
    token["changes"] = states_decoder();
  }
  for (json token : special) {
    if (has_content(tokens, token["content"])) continue;
    token["changes"] = false;
    token["if_known"] = !is_additional(token["content"]);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

bool FolderSettings::is_additional(const json& content) const {
  for (const json* source : {&documents_->config, &documents_->special}) {
    const auto more = source->find("additional_special_tokens");
    if (more == source->end() || !more->is_array()) continue;
    for (const json& each : *more) {
      const json token = as_token(each, true, false);
      if (!token.is_null() && token["content"] == content) return true;
    }
  }
  return false;
}

}  // namespace sluice::engine
