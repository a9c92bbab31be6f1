#include "engine/chat/template_sources.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/chat/folder_json.hpp"
#include "engine/chat/shipped_templates.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using nlohmann::json;
using std::filesystem::path;
using Texts = std::map<std::string, std::string>;

/// Other names of shipped templates, as LLaMA-Factory has them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kAliases = {
    {{"gemma2", "gemma"},
     {"gemma3", "gemma"},
     {"mixtral", "mistral"},
     {"phi", "phi3"},
     {"qwen", "qwen2.5"},
     {"qwen3_2507", "qwen3_nothink"}}};

/// Begins the part of a shipped file's name that says until which reading of data it is taken.
constexpr char kUntil = '@';

const ShippedTemplate* file_called(std::string_view name) {
  const auto& all = shipped_templates();
  const auto found = std::ranges::find(all, name, &ShippedTemplate::name);
  return found == all.end() ? nullptr : &*found;
}

const ShippedTemplate* shipped(std::string_view name, planner::DataReading reading) {
  if (name.find(kUntil) != std::string_view::npos) return nullptr;
  for (const auto& [alias, meant] : kAliases) {
    if (alias == name) name = meant;
  }
  if (reading == planner::DataReading::first) {
    // The two were equal then.
    const std::string_view earlier = name == "llama3.2" ? "llama3.1" : name;
    if (const auto* found = file_called(std::string(earlier) + kUntil + "1")) return found;
  }
  return file_called(name);
}

/// Sources in a field that is a text, an object of texts, or a list of {name, template}.
Texts texts_in(const json& config, const path& file) {
  const auto found = config.find("chat_template");
  if (found == config.end() || found->is_null()) return {};
  if (found->is_string()) return {{"default", found->get<std::string>()}};
  Texts texts;
  if (found->is_object()) {
    for (const auto& [name, text] : found->items()) {
      if (text.is_string()) texts[name] = text.get<std::string>();
    }
  } else if (found->is_array()) {
    for (const json& each : *found) {
      if (!each.is_object() || !each.contains("name") || !each.contains("template")) continue;
      if (!each["name"].is_string() || !each["template"].is_string()) continue;
      texts[each["name"].get<std::string>()] = each["template"].get<std::string>();
    }
  }
  if (texts.empty()) {
    throw BadRequest(file.string() +
                     ": chat_template: must be text, or a list of names and templates");
  }
  return texts;
}

/// The sources in the files of a folder, and the file of the first.
std::pair<Texts, path> texts_of(const path& folder) {
  const path jinja = folder / "chat_template.jinja";
  if (std::filesystem::exists(jinja)) {
    Texts texts = {{"default", whole_text(jinja)}};
    const path more = folder / "additional_chat_templates";
    if (std::filesystem::is_directory(more)) {
      for (const auto& entry : std::filesystem::directory_iterator(more)) {
        if (entry.path().extension() != ".jinja") continue;
        texts[entry.path().stem().string()] = whole_text(entry.path());
      }
    }
    return {texts, jinja};
  }
  for (const char* name : {"chat_template.json", "tokenizer_config.json"}) {
    const path file = folder / name;
    Texts texts = texts_in(folder_json(file), file);
    if (!texts.empty()) return {texts, file};
  }
  return {};
}

std::string name_in(const path& folder, const path& file) {
  return file.filename().string() + " of " + folder.string();
}

}  // namespace

std::string shipped_template_names() {
  std::vector<std::string_view> names;
  for (const ShippedTemplate& each : shipped_templates()) {
    if (each.name.find(kUntil) == std::string_view::npos) names.push_back(each.name);
  }
  for (const auto& [alias, meant] : kAliases) names.push_back(alias);
  std::ranges::sort(names);
  std::string all;
  for (const std::string_view name : names) {
    all.append(all.empty() ? "" : ", ").append(name);
  }
  return all;
}

TemplateSources named_template(const path& folder, const std::string& name,
                               planner::DataReading reading) {
  if (const ShippedTemplate* found = shipped(name, reading)) {
    return {.name = name + " (shipped)",
            .where = "template",
            .texts = {{"default", std::string(found->text)}},
            .shipped = true};
  }
  const path file = name;
  const bool is_path = file.extension() == ".jinja" || name.find('/') != std::string::npos;
  if (is_path && !std::filesystem::is_regular_file(file)) {
    throw BadRequest("template: there is no file " + name);
  }
  if (is_path) return {.name = name, .where = name, .texts = {{"default", whole_text(file)}}};
  const auto [texts, of] = texts_of(folder);
  const auto own = texts.find(name);
  if (own == texts.end()) {
    throw BadRequest("template: \"" + name + "\" is not one of " + shipped_template_names() +
                     ": give one of these, or the path of a .jinja file");
  }
  return {.name = name + " in " + name_in(folder, of),
          .where = of.string(),
          .texts = {{"default", own->second}}};
}

std::optional<TemplateSources> folder_template(const path& folder) {
  auto [texts, file] = texts_of(folder);
  if (texts.empty()) return std::nullopt;
  if (!texts.contains("default")) {
    std::string names;
    for (const auto& [name, text] : texts) names.append(names.empty() ? "" : ", ").append(name);
    throw BadRequest(file.string() + ": has the chat templates " + names +
                     " and none called default: choose one with template=NAME");
  }
  std::erase_if(
      texts, [](const auto& each) { return each.first != "default" && each.first != "tool_use"; });
  return TemplateSources{
      .name = name_in(folder, file), .where = file.string(), .texts = std::move(texts)};
}

}  // namespace sluice::engine
