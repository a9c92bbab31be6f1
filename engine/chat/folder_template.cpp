// Chat template and special tokens of a model folder, read from its files.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "engine/chat/family_template.hpp"
#include "engine/model_files/strict_json.hpp"
#include "planner/catalogue/store.hpp"
#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using nlohmann::json;
using std::filesystem::path;

constexpr int kMostConfigLevels = 32;

json config_at(const path& file) {
  if (!std::filesystem::exists(file)) return json::object();
  json document =
      parse_strict_json(planner::read_whole_file(file), file.string(), kMostConfigLevels);
  if (!document.is_object()) throw BadRequest(file.string() + ": must be an object");
  return document;
}

/// Text of a special token, which is a string or an object with `content`.
std::optional<std::string> token_text(const json& config, const char* field, const path& file) {
  const auto found = config.find(field);
  if (found == config.end() || found->is_null()) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  if (found->is_object() && found->contains("content") && (*found)["content"].is_string()) {
    return (*found)["content"].get<std::string>();
  }
  throw BadRequest(file.string() + ": " + field + ": must be text, or an object with content");
}

/// Source of the template, which is one text, or the text called "default" in a list.
std::optional<std::string> source_in(const json& config, const path& file) {
  const auto found = config.find("chat_template");
  if (found == config.end() || found->is_null()) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  if (found->is_array()) {
    for (const json& each : *found) {
      if (each.is_object() && each.value("name", json()) == "default" &&
          each.contains("template") && each["template"].is_string()) {
        return each["template"].get<std::string>();
      }
    }
  }
  throw BadRequest(file.string() + ": chat_template: must be text, or a list with a default one");
}

struct TemplateSource {
  std::string text;
  path file;
};

std::optional<TemplateSource> find_source(const path& folder) {
  const path jinja = folder / "chat_template.jinja";
  if (std::filesystem::exists(jinja)) return TemplateSource{planner::read_whole_file(jinja), jinja};
  for (const char* name : {"chat_template.json", "tokenizer_config.json"}) {
    const path file = folder / name;
    if (auto text = source_in(config_at(file), file)) return TemplateSource{std::move(*text), file};
  }
  return std::nullopt;
}

std::string special_token(const std::optional<std::string>& token, const char* field,
                          const FamilyTemplate& found, const path& folder) {
  if (token) return *token;
  throw BadRequest((folder / "tokenizer_config.json").string() + ": " + field +
                   ": is missing, and the chat template " + found.name + " writes it");
}

/// Replaces the date of a preamble, which ends with its date and an empty line.
void set_date(FamilyTemplate& chat, const std::string& date) {
  if (!chat.preamble) {
    throw BadRequest("date_string: the chat template " + chat.name +
                     " writes no date: leave it out");
  }
  if (date.empty() || date.find('\n') != std::string::npos) {
    throw BadRequest("date_string: must be one line, such as \"26 Jul 2024\"");
  }
  constexpr std::string_view kBefore = "Today Date: ";
  const std::size_t at = chat.preamble->find(kBefore) + kBefore.size();
  chat.preamble->replace(at, chat.preamble->find('\n', at) - at, date);
}

}  // namespace

SpecialTokenNames special_token_names(const path& folder) {
  const path file = folder / "tokenizer_config.json";
  const json config = config_at(file);
  return {token_text(config, "bos_token", file), token_text(config, "eos_token", file)};
}

FamilyTemplate family_template_of(const path& folder, const std::optional<std::string>& name,
                                  const std::optional<std::string>& date_string) {
  FamilyTemplate found;
  if (name) {
    found = named_chat_template(*name);
  } else {
    const auto source = find_source(folder);
    if (!source) {
      throw BadRequest(
          folder.string() +
          ": has no chat template, and the data are conversations: choose one with "
          "template=NAME (chatml, qwen2, qwen2.5, qwen3, llama3, llama3.1, llama3.2, mistral)");
    }
    found = recognised_chat_template(source->text, source->file.string());
  }
  if (date_string) set_date(found, *date_string);
  if (found.family != ChatFamily::llama3 && found.family != ChatFamily::mistral) return found;
  const SpecialTokenNames tokens = special_token_names(folder);
  found.bos = special_token(tokens.bos, "bos_token", found, folder);
  if (found.family == ChatFamily::mistral) {
    found.eos = special_token(tokens.eos, "eos_token", found, folder);
  }
  return found;
}

}  // namespace sluice::engine
