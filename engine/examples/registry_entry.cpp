#include "engine/examples/registry_entry.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "sim/error.hpp"
#include "sim/nearest_name.hpp"

namespace sluice::engine {
namespace {

using nlohmann::json;
using planner::DataFormat;

/// A column that marks data of another method or medium.
struct OtherColumn {
  const char* name;
  const char* reason;
};
constexpr const char* kOtherMethod = "is preference data, which no method here learns from";
constexpr const char* kJudged =
    "is preference data, which no method here learns from: put the rows whose answers are good "
    "into a file of their own, and leave it out";
constexpr const char* kOtherMedium = "is not read: text alone is learnt";
constexpr std::array kOtherColumns = {
    OtherColumn{"chosen", kOtherMethod}, OtherColumn{"rejected", kOtherMethod},
    OtherColumn{"kto_tag", kJudged},     OtherColumn{"images", kOtherMedium},
    OtherColumn{"videos", kOtherMedium}, OtherColumn{"audios", kOtherMedium}};

const std::vector<std::string>& known_fields() {
  static const std::vector<std::string> kFields = {
      "file_name",  "formatting", "columns", "tags",   "ranking", "hf_hub_url",  "ms_hub_url",
      "om_hub_url", "script_url", "subset",  "folder", "split",   "num_samples", "cloud_file_name"};
  return kFields;
}

std::optional<std::string> text_of(const json& object, const std::string& key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

}  // namespace

RegistryEntry::RegistryEntry(const json& entry, std::string where)
    : entry_(entry), where_(std::move(where)) {
  if (!entry.is_object()) throw BadRequest(where_ + ": must be an object");
  for (const auto& [field, value] : entry.items()) {
    if (std::ranges::find(known_fields(), field) != known_fields().end()) continue;
    refuse(field, "unknown field" + sim::did_you_mean(field, known_fields()));
  }
  for (const char* field : {"ms_hub_url", "om_hub_url", "script_url", "cloud_file_name"}) {
    if (entry.contains(field) && !entry.contains("file_name") && !entry.contains("hf_hub_url")) {
      refuse(field,
             "nothing is downloaded and no script is run: give file_name, a file beside "
             "dataset_info.json");
    }
  }
  refuse_other_data();
}

void RegistryEntry::refuse_other_data() const {
  const auto ranking = entry_.find("ranking");
  if (ranking != entry_.end() && !ranking->is_null() && *ranking != false) {
    refuse("ranking", kOtherMethod + advice_on_answers());
  }
  const auto columns = entry_.find("columns");
  if (columns == entry_.end() || !columns->is_object()) return;
  for (const OtherColumn& other : kOtherColumns) {
    const auto found = columns->find(other.name);
    if (found == columns->end() || found->is_null()) continue;
    const bool ranked =
        other.name == std::string_view("chosen") || other.name == std::string_view("rejected");
    refuse(std::string("columns.") + other.name,
           other.reason + (ranked ? advice_on_answers() : std::string()));
  }
}

std::string RegistryEntry::advice_on_answers() const {
  const auto formatting = text("formatting");
  const std::string chosen = ": to train on the chosen answers, ";
  if (formatting && *formatting != "alpaca") {
    return chosen + "write each as the last message of its conversation";
  }
  const auto columns = entry_.find("columns");
  const bool named = columns != entry_.end() && columns->is_object();
  const auto field = named ? text_of(*columns, "chosen") : std::nullopt;
  return chosen + "say \"response\": \"" + field.value_or("chosen") +
         "\" in columns, and leave ranking, chosen and rejected out";
}

Dataset RegistryEntry::dataset(const std::filesystem::path& folder) const {
  Dataset out;
  out.format = format();
  const auto split = text("split");
  const auto subset = text("subset");
  const auto inner = text("folder");
  if (split) out.part.split = *split;
  if (subset || inner) out.part.subset = inner ? *inner : *subset;
  const auto number = entry_.find("num_samples");
  if (number != entry_.end() && !number->is_null()) {
    if (!number->is_number_integer() || number->get<std::int64_t>() < 1) {
      refuse("num_samples", "must be a whole number of at least 1");
    }
    out.num_samples = number->get<std::int64_t>();
  }
  if (const auto file = text("file_name")) {
    out.data = folder / *file;
    return out;
  }
  const auto hub = text("hf_hub_url");
  if (!hub) refuse("file_name", "is missing");
  out.data = *hub;
  if (!cached_data_set(*hub)) {
    refuse("hf_hub_url", "nothing is downloaded, and the local cache has no " + *hub +
                             ": hf download " + *hub + " --repo-type dataset");
  }
  return out;
}

/// Format that the entry states; none if it says nothing about its examples.
std::optional<ExampleFormat> RegistryEntry::format() const {
  const auto formatting = text("formatting");
  const bool described = formatting || entry_.contains("columns") || entry_.contains("tags");
  if (!described) return std::nullopt;
  if (!formatting || *formatting == "alpaca") return alpaca();
  if (*formatting == "sharegpt" || *formatting == "openai") return messages(*formatting);
  refuse("formatting", "\"" + *formatting + "\" is not one of alpaca, sharegpt, openai");
}

ExampleFormat RegistryEntry::alpaca() const {
  ExampleFormat format = example_format(DataFormat::alpaca);
  const auto columns = entry_.find("columns");
  if (columns == entry_.end()) return format;
  // As in LLaMA-Factory, fields that the columns leave out do not exist; a prompt and a response
  // there must be.
  format.query.clear();
  format.system.clear();
  format.history.clear();
  format.tools.clear();
  format.named = true;
  set_names("columns", {{"prompt", &format.prompt},
                        {"query", &format.query},
                        {"response", &format.response},
                        {"system", &format.system},
                        {"tools", &format.tools},
                        {"history", &format.history}});
  if (!text_of(*columns, "prompt") || text_of(*columns, "response")) return format;
  // A prompt alone is a text to continue.
  ExampleFormat texts = example_format(DataFormat::jsonl);
  texts.text = format.prompt;
  return texts;
}

ExampleFormat RegistryEntry::messages(const std::string& formatting) const {
  const bool openai = formatting == "openai";
  ExampleFormat format = example_format(openai ? DataFormat::messages : DataFormat::sharegpt);
  format.named = entry_.contains("columns");
  set_names("columns",
            {{"messages", &format.messages}, {"system", &format.system}, {"tools", &format.tools}});
  std::string user = openai ? "user" : "human";
  std::string assistant = openai ? "assistant" : "gpt";
  std::string system = "system";
  std::string observation = openai ? "tool" : "observation";
  std::string function = "function_call";
  set_names("tags", {{"role_tag", &format.role},
                     {"content_tag", &format.content},
                     {"user_tag", &user},
                     {"assistant_tag", &assistant},
                     {"system_tag", &system},
                     {"observation_tag", &observation},
                     {"function_tag", &function}});
  format.roles = {{user, "user"},
                  {assistant, "assistant"},
                  {system, "system"},
                  {observation, "tool"},
                  {function, "function_call"}};
  return format;
}

void RegistryEntry::set_names(const std::string& section, const Names& names) const {
  const auto found = entry_.find(section);
  if (found == entry_.end() || found->is_null()) return;
  if (!found->is_object()) refuse(section, "must be an object");
  for (const auto& [field, value] : found->items()) {
    const auto known = std::ranges::find_if(
        names, [&field = field](const auto& each) { return field == each.first; });
    if (known == names.end()) refuse(section + "." + field, "is not supported for this formatting");
    if (value.is_null()) continue;
    if (!value.is_string()) refuse(section + "." + field, "must be text");
    *known->second = value.get<std::string>();
  }
}

std::optional<std::string> RegistryEntry::text(const std::string& field) const {
  const auto found = entry_.find(field);
  if (found == entry_.end() || found->is_null()) return std::nullopt;
  if (!found->is_string()) refuse(field, "must be text");
  return found->get<std::string>();
}

void RegistryEntry::refuse(const std::string& field, const std::string& reason) const {
  throw BadRequest(where_ + ": " + field + ": " + reason);
}

}  // namespace sluice::engine
