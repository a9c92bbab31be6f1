#include "planner/runs/axolotl_data.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "planner/files/yaml_document.hpp"
#include "planner/runs/data_entry.hpp"
#include "planner/runs/foreign_rules.hpp"
#include "planner/runs/run_config.hpp"
#include "planner/runs/values.hpp"
#include "sim/error.hpp"
#include "sim/nearest_name.hpp"

namespace sluice::planner {
namespace {

using Text = const std::string&;

/// Keys of an entry that name a field of the data, and what it holds.
struct FieldKey {
  const char* theirs;
  const char* ours;
};
constexpr std::array kFields = {
    FieldKey{"field", "text"},
    FieldKey{"text_column", "text"},
    FieldKey{"field_instruction", "prompt"},
    FieldKey{"field_input", "query"},
    FieldKey{"field_output", "response"},
    FieldKey{"field_system", "system"},
    FieldKey{"field_messages", "messages"},
    FieldKey{"field_tools", "tools"},
    FieldKey{"message_field_role", "role"},
    FieldKey{"message_field_content", "content"},
    FieldKey{"message_field_training", "learnt"},
};

/// Keys of an entry that change nothing.
constexpr std::array kMoot = {"ds_type",        "trust_remote_code", "preprocess_shards",
                              "shards_idx",     "conversation",      "split_thinking",
                              "input_transform"};

/// Keys of an entry that are refused unless they are off, each with what to write.
constexpr std::array kRefused = {
    FieldKey{"shards", "write max_samples: N"},
    FieldKey{"revision", "name that revision's file as path"},
    FieldKey{"drop_system_message", "remove the system turns from the data"},
    FieldKey{"message_field_training_detail",
             "whole turns are learnt or not: name a field by "
             "message_field_training"},
    FieldKey{"field_human", "write field_messages and message_property_mappings"},
    FieldKey{"field_model", "write field_messages and message_property_mappings"},
    FieldKey{"skip", "remove the first rows from the data"},
    FieldKey{"field_thinking", "name the field reasoning_content"},
    FieldKey{"template_thinking_key", "the chat template reads the fields of a turn"},
    FieldKey{"system_prompt", "write a system turn into the data"},
    FieldKey{"system_format", "the model's chat template writes turns"},
    FieldKey{"format", "the model's chat template writes turns"},
    FieldKey{"no_input_format", "the model's chat template writes turns"},
    FieldKey{"input_format", "the model's chat template writes turns"},
    FieldKey{"logprobs_field", "the loss is cross-entropy"},
};

std::vector<std::string> axolotl_entry_keys() {
  std::vector<std::string> keys = {
      "path",         "type",          "data_files",          "name",
      "split",        "roles",         "roles_to_train",      "train_on_eos",
      "train_on_eot", "chat_template", "chat_template_jinja", "message_property_mappings",
      "temperature"};
  for (const FieldKey& each : kFields) keys.emplace_back(each.theirs);
  for (const char* each : kMoot) keys.emplace_back(each);
  for (const FieldKey& each : kRefused) keys.emplace_back(each.theirs);
  return keys;
}

/// A chat template as a run's `template` names it; none for the model folder's own.
using ChosenTemplate = std::optional<std::string>;

/// Reads the keys of one entry.
class EntryReader {
 public:
  EntryReader(RunConfig& run, std::string where) : run_(run), where_(std::move(where)) {}

  DataEntry read(const YAML::Node& map) {
    if (map.IsScalar()) return {.name = map.Scalar()};
    if (!map.IsMap()) throw BadRequest(where_ + ": must be a map such as {path: FILE}");
    for (const auto& item : map) read_key(item.first.Scalar(), item.second);
    if (file_) entry_.name = local_file();
    if (entry_.name.empty()) throw BadRequest(where_ + ": path is missing: name a file");
    if (entry_.only_marked && !entry_.columns.contains("learnt")) {
      throw BadRequest(where_ +
                       ".roles_to_train: [] learns the turns that are marked alone: name the field "
                       "that marks them as message_field_training");
    }
    // axolotl's words for roles, where the entry states none.
    if (entry_.format == DataFormat::messages && entry_.roles.empty()) {
      entry_.roles = {{"human", "user"}, {"gpt", "assistant"}};
    }
    return entry_;
  }

  /// The chat template that the entry names, as a run's `template`; none where it names none.
  [[nodiscard]] const std::optional<ChosenTemplate>& chosen_template() const { return template_; }

 private:
  void read_key(Text key, const YAML::Node& node) {
    const std::string path = where_ + "." + key;
    if (node.IsNull() || (node.IsScalar() && is_none(node.Scalar()))) return;
    if (key == "type") return read_type(node, path);
    if (key == "roles") return read_roles(node, path);
    if (key == "message_property_mappings") return read_mappings(node, path);
    if (key == "roles_to_train") return require_assistant(node, path);
    if (key == "data_files") return read_files(node, path);
    const auto scalar = [&] { return scalar_of(node, path); };
    if (key == "path") {
      entry_.name = scalar();
    } else if (key == "name") {
      entry_.subset = scalar();
    } else if (key == "split") {
      set_split(entry_, scalar(), path);
    } else if (key == "chat_template") {
      read_template(scalar(), path);
    } else if (key == "chat_template_jinja") {
      template_ = scalar();
    } else if (key == "train_on_eos" || key == "train_on_eot") {
      require_one_of(scalar(), path, {"turn"},
                     "the end of every answer is learnt, and no other: write turn");
    } else if (!read_field(key, node, path)) {
      throw BadRequest(path + ": unknown key" + sim::did_you_mean(key, axolotl_entry_keys()));
    }
  }

  /// Notes the template of an entry; "jinja" is named by chat_template_jinja.
  void read_template(Text name, Text path) {
    if (name == "jinja") return;
    RunConfig scratch;
    set_chat_template(scratch, name, path);
    for (const std::string& note : scratch.notes) run_.notes.push_back(note);
    if (!template_) template_ = scratch.chat_template;
  }

  bool read_field(Text key, const YAML::Node& node, Text path) {
    for (const FieldKey& each : kFields) {
      if (key != each.theirs) continue;
      entry_.columns[each.ours] = scalar_of(node, path);
      return true;
    }
    for (const FieldKey& each : kRefused) {
      if (key != each.theirs) continue;
      if (node.IsScalar() && says_off(node.Scalar())) return true;
      throw BadRequest(path + ": is not done here: " + each.ours);
    }
    return key == "temperature" || std::ranges::find(kMoot, key) != kMoot.end();
  }

  /// The type of an entry: alpaca, chat_template, completion and the like, or a map of fields.
  void read_type(const YAML::Node& node, Text path) {
    if (node.IsMap()) {
      entry_.format = DataFormat::alpaca;
      for (const auto& item : node) read_key(item.first.Scalar(), item.second);
      return;
    }
    const std::string type = scalar_of(node, path);
    const std::string_view name = std::string_view(type).substr(0, type.find_first_of(".:"));
    if (type == "alpaca" || type == "alpaca:alpaca" || type == "alpaca:chat") {
      entry_.format = DataFormat::alpaca;
      tell(path, "alpaca rows are conversations of the model's chat template here");
    } else if (name == "chat_template") {
      entry_.format = DataFormat::messages;
    } else if (name == "sharegpt") {
      entry_.format = DataFormat::sharegpt;
    } else if (name == "completion" || name == "pretrain") {
      entry_.format = DataFormat::jsonl;
      const std::size_t colon = type.find(':');
      if (colon != std::string::npos) entry_.columns["text"] = type.substr(colon + 1);
    } else {
      throw BadRequest(path + ": \"" + type +
                       "\" is not done here: alpaca, chat_template, sharegpt and completion are; "
                       "convert the rows to messages");
    }
  }

  /// Roles by axolotl's word, each with the data's words for it.
  void read_roles(const YAML::Node& node, Text path) {
    if (!node.IsMap()) throw BadRequest(path + ": must be a map of roles");
    for (const auto& item : node) {
      const std::string role = item.first.Scalar();
      if (item.second.IsScalar()) {
        entry_.roles[item.second.Scalar()] = role;
        continue;
      }
      for (const auto& word : item.second) entry_.roles[scalar_of(word, path)] = role;
    }
  }

  void read_mappings(const YAML::Node& node, Text path) {
    if (!node.IsMap()) throw BadRequest(path + ": must be a map of names");
    for (const auto& item : node) {
      const std::string property = item.first.Scalar();
      const std::string field = scalar_of(item.second, path + "." + property);
      if (property == "role" || property == "content") {
        entry_.columns[property] = field;
      } else if (property != field) {
        throw BadRequest(path + "." + property +
                         ": is not done here: role and content are; name "
                         "the field " +
                         property + " in the data");
      }
    }
  }

  void require_assistant(const YAML::Node& node, Text path) {
    entry_.only_marked = node.IsSequence() && node.size() == 0;
    const auto wrong = [&path](Text role) {
      if (role == "assistant" || role == "gpt" || role == "model") return;
      throw BadRequest(path + ": \"" + role + "\" is not done here: the assistant is learnt");
    };
    if (node.IsScalar()) return wrong(node.Scalar());
    for (const auto& role : node) wrong(scalar_of(role, path));
  }

  void read_files(const YAML::Node& node, Text path) {
    if (node.IsSequence() && node.size() > 1) {
      throw BadRequest(path + ": several files are not done here: give each an entry of its own");
    }
    file_ = scalar_of(node.IsSequence() ? node[0] : node, path);
  }

  /// The file of an entry whose path may be the name of a reader ("json").
  [[nodiscard]] std::filesystem::path local_file() const {
    constexpr std::array kReaders = {"json", "csv", "parquet", "arrow", "text"};
    if (std::ranges::find(kReaders, entry_.name.string()) != kReaders.end()) return *file_;
    return entry_.name / *file_;
  }

  static std::string scalar_of(const YAML::Node& node, Text path) {
    if (!node.IsScalar()) throw BadRequest(path + ": must be one value");
    return node.Scalar();
  }

  void tell(Text path, Text what) const { run_.notes.push_back(path + ": " + what); }

  RunConfig& run_;
  std::string where_;
  DataEntry entry_;
  std::optional<std::string> file_;
  std::optional<ChosenTemplate> template_;
};

/// The template of a run whose entries each may name one; entries without one have the run's.
class OneTemplate {
 public:
  explicit OneTemplate(ChosenTemplate of_run) : of_run_(std::move(of_run)) {}

  /// Adds the entry at `where`. Throws BadRequest if an entry before it has another template.
  void add(const DataEntry& entry, const std::optional<ChosenTemplate>& own,
           const std::string& where) {
    const bool is_text = entry.format == DataFormat::jsonl || entry.format == DataFormat::alpaca;
    if (!own && is_text) return;  // axolotl renders these without a template.
    const ChosenTemplate& named = own ? *own : of_run_;
    if (chosen_ && *chosen_ != named) {
      throw BadRequest(where + ".chat_template: " + text(named) +
                       " is not done here beside the data sets before, which have " +
                       text(*chosen_) + ": one chat template holds for a run");
    }
    chosen_ = named;
  }

  /// Template of all entries; none where none of them needs one.
  [[nodiscard]] const std::optional<ChosenTemplate>& chosen() const { return chosen_; }

 private:
  static std::string text(const ChosenTemplate& named) {
    return named.value_or("the tokenizer's own");
  }

  ChosenTemplate of_run_;
  std::optional<ChosenTemplate> chosen_;
};

void read_entries(RunConfig& run, Text value, Text key) {
  OneTemplate one(run.chat_template);
  read_yaml(value, key, [&](const YAML::Node& node) {
    std::vector<DataEntry> entries;
    const auto add = [&](const YAML::Node& map, const std::string& where) {
      EntryReader reader(run, where);
      entries.push_back(reader.read(map));
      one.add(entries.back(), reader.chosen_template(), where);
    };
    if (!node.IsSequence()) add(node, key);
    if (node.IsSequence()) {
      for (const auto& item : node) add(item, key + "[" + std::to_string(entries.size()) + "]");
    }
    run.data = std::move(entries);
  });
  if (one.chosen()) run.chat_template = *one.chosen();
  run.stated.insert("data");
}

}  // namespace

void set_axolotl_data(RunConfig& run, Text value, Text key) {
  if (!is_none(value)) read_entries(run, value, key);
}

void set_axolotl_pretraining(RunConfig& run, Text value, Text key) {
  if (is_none(value)) return;
  read_entries(run, value, key);
  run.stated.insert("pretraining_dataset");
  for (DataEntry& each : run.data) {
    if (!each.format && each.columns.contains("text")) each.format = DataFormat::jsonl;
  }
}

}  // namespace sluice::planner
