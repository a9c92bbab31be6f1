#include "engine/datasets/dataset_info.hpp"

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "engine/model_files/strict_json.hpp"
#include "planner/catalogue/store.hpp"
#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"
#include "sim/nearest_name.hpp"

namespace sluice::engine {
namespace {

using nlohmann::json;
using planner::DataFormat;
using std::filesystem::path;

constexpr int kMostRegistryLevels = 16;
constexpr const char* kRegistryName = "dataset_info.json";

/// An entry of a registry; every refusal names the file, the entry and the field.
class RegistryEntry {
 public:
  RegistryEntry(const json& entry, std::string where) : entry_(entry), where_(std::move(where)) {
    if (!entry.is_object()) throw BadRequest(where_ + ": must be an object");
    for (const char* field :
         {"hf_hub_url", "ms_hub_url", "om_hub_url", "script_url", "cloud_file_name"}) {
      if (entry.contains(field) && !entry.contains("file_name")) {
        refuse(field, "nothing is downloaded: give file_name, a file beside dataset_info.json");
      }
    }
    if (entry.contains("ranking") && entry["ranking"] != false) {
      refuse("ranking", "preference data are not supported");
    }
    for (const auto& [field, value] : entry.items()) {
      require_known(field, "",
                    {"file_name", "formatting", "columns", "tags", "ranking", "hf_hub_url",
                     "ms_hub_url", "om_hub_url", "script_url", "subset", "split"});
    }
  }

  [[nodiscard]] std::string file_name() const {
    const auto name = text(entry_, "file_name", "file_name");
    if (!name) refuse("file_name", "is missing");
    return *name;
  }

  /// Format that the entry states; none if it says nothing about its examples.
  [[nodiscard]] std::optional<ExampleFormat> format() const {
    const auto formatting = text(entry_, "formatting", "formatting");
    const bool described = formatting || entry_.contains("columns") || entry_.contains("tags");
    if (!described) return std::nullopt;
    if (!formatting || *formatting == "alpaca") return alpaca();
    if (*formatting == "sharegpt" || *formatting == "openai") return messages(*formatting);
    refuse("formatting", "\"" + *formatting + "\" is not one of alpaca, sharegpt, openai");
  }

 private:
  using Names = std::initializer_list<std::pair<const char*, std::string*>>;

  [[nodiscard]] ExampleFormat alpaca() const {
    ExampleFormat format = example_format(DataFormat::alpaca);
    if (!entry_.contains("columns")) return format;
    // As in LLaMA-Factory, fields that the columns leave out, except for the first three, do not
    // exist.
    format.system.clear();
    format.history.clear();
    const bool answers = entry_["columns"].is_object() && entry_["columns"].contains("response");
    set_names("columns", {{"prompt", &format.prompt},
                          {"query", &format.query},
                          {"response", &format.response},
                          {"system", &format.system},
                          {"history", &format.history}});
    if (answers || !entry_["columns"].contains("prompt")) return format;
    ExampleFormat text =
        example_format(DataFormat::jsonl);  // A prompt alone is a text to continue.
    text.text = format.prompt;
    return text;
  }

  [[nodiscard]] ExampleFormat messages(const std::string& formatting) const {
    const bool openai = formatting == "openai";
    ExampleFormat format = example_format(openai ? DataFormat::messages : DataFormat::sharegpt);
    set_names("columns", {{"messages", &format.messages}, {"system", &format.system}});
    std::string user = openai ? "user" : "human";
    std::string assistant = openai ? "assistant" : "gpt";
    std::string system = "system";
    std::string observation, function;
    set_names("tags", {{"role_tag", &format.role},
                       {"content_tag", &format.content},
                       {"user_tag", &user},
                       {"assistant_tag", &assistant},
                       {"system_tag", &system},
                       {"observation_tag", &observation},
                       {"function_tag", &function}});
    format.speakers = {
        {user, Speaker::user}, {assistant, Speaker::assistant}, {system, Speaker::system}};
    return format;
  }

  void set_names(const std::string& section, Names names) const {
    const auto found = entry_.find(section);
    if (found == entry_.end()) return;
    if (!found->is_object()) refuse(section, "must be an object");
    for (const auto& [field, value] : found->items()) {
      const auto known = std::ranges::find_if(
          names, [&field = field](const auto& each) { return field == each.first; });
      if (known == names.end()) {
        refuse(section + "." + field, "is not supported for this formatting");
      }
      const auto name = text(*found, field, section + "." + field);
      if (name) *known->second = *name;
    }
  }

  [[nodiscard]] std::optional<std::string> text(const json& object, const std::string& key,
                                                const std::string& field) const {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) return std::nullopt;
    if (!found->is_string()) refuse(field, "must be text");
    return found->get<std::string>();
  }

  void require_known(const std::string& field, const std::string& section,
                     const std::vector<std::string>& names) const {
    if (std::ranges::find(names, field) != names.end()) return;
    refuse(section + field, "unknown field" + sim::did_you_mean(field, names));
  }

  [[noreturn]] void refuse(const std::string& field, const std::string& reason) const {
    throw BadRequest(where_ + ": " + field + ": " + reason);
  }

  const json& entry_;
  std::string where_;
};

json read_registry(const path& registry) {
  json document =
      parse_strict_json(planner::read_whole_file(registry), registry.string(), kMostRegistryLevels);
  if (!document.is_object()) throw BadRequest(registry.string() + ": must be an object by name");
  return document;
}

/// Format of the registry's entry for this file, if any.
std::optional<ExampleFormat> stated_format(const path& file) {
  const path registry = file.parent_path() / kRegistryName;
  if (!std::filesystem::exists(registry)) return std::nullopt;
  const json document = read_registry(registry);
  for (const auto& [name, entry] : document.items()) {
    if (entry.is_object() && entry.value("file_name", json()) == file.filename().string()) {
      return registered_dataset(registry, name).format;
    }
  }
  return std::nullopt;
}

std::optional<path> find_registry(const std::optional<path>& folder) {
  if (folder) {
    const path registry = *folder / kRegistryName;
    if (std::filesystem::exists(registry)) return registry;
    throw BadRequest("dataset_dir: there is no " + registry.string());
  }
  for (const path& registry : {path(kRegistryName), path("data") / kRegistryName}) {
    if (std::filesystem::exists(registry)) return registry;
  }
  return std::nullopt;
}

}  // namespace

Dataset registered_dataset(const path& registry, const std::string& name) {
  const json document = read_registry(registry);
  const auto found = document.find(name);
  if (found == document.end()) {
    std::vector<std::string> names;
    names.reserve(document.size());
    for (const auto& [each, entry] : document.items()) names.push_back(each);
    throw BadRequest("data: there is no file " + name + ", and " + registry.string() +
                     " has no entry of that name" + sim::did_you_mean(name, names));
  }
  const RegistryEntry entry(*found, registry.string() + ": " + name);
  return {registry.parent_path() / entry.file_name(), entry.format()};
}

Dataset find_dataset(const path& data, const std::optional<path>& folder) {
  if (std::filesystem::is_regular_file(data)) return {data, stated_format(data)};
  if (folder && std::filesystem::is_regular_file(*folder / data)) {
    return {*folder / data, stated_format(*folder / data)};
  }
  const bool is_name = data.string() == data.filename().string();
  const auto registry =
      is_name && !std::filesystem::exists(data) ? find_registry(folder) : std::nullopt;
  if (!registry) return {data, std::nullopt};  // Left to the reader of the file to refuse.
  return registered_dataset(*registry, data.string());
}

}  // namespace sluice::engine
