#include "planner/runs/data_entry.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "planner/files/choice.hpp"
#include "planner/files/yaml_document.hpp"
#include "planner/runs/split_slice.hpp"
#include "planner/runs/values.hpp"
#include "sim/error.hpp"
#include "sim/nearest_name.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {
namespace {

const std::vector<std::string>& entry_keys() {
  static const std::vector<std::string> kKeys = {"path",        "weight", "max_samples", "split",
                                                 "subset",      "format", "columns",     "roles",
                                                 "only_marked", "share"};
  return kKeys;
}

const std::vector<std::string>& data_roles() {
  static const std::vector<std::string> kRoles = {"user", "assistant",     "system",
                                                  "tool", "function_call", "developer"};
  return kRoles;
}

void require_known(const std::string& name, const std::vector<std::string>& known,
                   const std::string& path) {
  if (std::ranges::find(known, name) != known.end()) return;
  throw BadRequest(path + "." + name + ": unknown key" + sim::did_you_mean(name, known));
}

std::string scalar_of(const YAML::Node& node, const std::string& path) {
  if (node.IsNull()) return "";
  if (!node.IsScalar()) throw BadRequest(path + ": must be one value");
  return node.Scalar();
}

/// A map of names to names.
std::map<std::string, std::string> name_map(const YAML::Node& map, const std::string& path) {
  std::map<std::string, std::string> names;
  if (map.IsNull()) return names;
  if (!map.IsMap()) throw BadRequest(path + ": must be a map of names");
  for (const auto& item : map) {
    const std::string key = scalar_of(item.first, path);
    const std::string inner = path + "." + key;
    names[key] = parse_name(scalar_of(item.second, inner), inner);
  }
  return names;
}

double parse_weight(const std::string& value, const std::string& path) {
  const double weight = parse_number(value, path);
  if (!(weight > 0)) throw BadRequest(path + ": \"" + value + "\" must be more than 0");
  return weight;
}

/// Sets one key of an entry.
void set_key(DataEntry& entry, const std::string& key, const YAML::Node& node,
             const std::string& path) {
  if (key == "columns") {
    entry.columns = name_map(node, path);
    for (const auto& [held, field] : entry.columns) require_known(held, data_columns(), path);
    return;
  }
  if (key == "roles") {
    entry.roles = name_map(node, path);
    for (const auto& [word, role] : entry.roles) {
      if (std::ranges::find(data_roles(), role) == data_roles().end()) {
        throw BadRequest(path + "." + word + ": \"" + role + "\" is no role" +
                         sim::did_you_mean(role, data_roles()));
      }
    }
    return;
  }
  const std::string value = scalar_of(node, path);
  if (key == "path") {
    entry.name = parse_name(value, path);
  } else if (is_none(value)) {
    return;
  } else if (key == "only_marked") {
    entry.only_marked = parse_yes_or_no(value, path);
  } else if (key == "weight") {
    entry.weight = parse_weight(value, path);
  } else if (key == "share") {
    entry.share = parse_weight(value, path);
  } else if (key == "max_samples" && value.ends_with('%')) {
    entry.max_percent = parse_percent(value, path);
  } else if (key == "max_samples") {
    entry.max_samples = parse_positive(value, path);
  } else if (key == "split") {
    set_split(entry, value, path);
  } else if (key == "subset") {
    entry.subset = value;
  } else {
    entry.format = parse_data_format(value, path);
  }
}

DataEntry entry_of(const YAML::Node& node, const std::string& path) {
  DataEntry entry;
  if (!node.IsMap()) {
    entry.name = parse_name(scalar_of(node, path), path);
    return entry;
  }
  for (const auto& item : node) {
    const std::string key = scalar_of(item.first, path);
    require_known(key, entry_keys(), path);
    set_key(entry, key, item.second, path + "." + key);
  }
  if (entry.name.empty()) throw BadRequest(path + ": path is missing: name a file or a data set");
  return entry;
}

bool is_flow(const std::string& value) {
  return value.size() > 1 && ((value.front() == '[' && value.back() == ']') ||
                              (value.front() == '{' && value.back() == '}'));
}

}  // namespace

const std::vector<std::string>& data_columns() {
  static const std::vector<std::string> kColumns = {"text",       "prompt", "query",   "response",
                                                    "completion", "system", "history", "messages",
                                                    "tools",      "role",   "content", "learnt"};
  return kColumns;
}

void set_split(DataEntry& entry, const std::string& value, const std::string& path) {
  const SplitSlice slice = parse_split(value, path);
  entry.split = slice.name;
  if (slice.rows) entry.max_samples = slice.rows;
  if (slice.percent) entry.max_percent = slice.percent;
}

std::vector<DataEntry> parse_data(const std::string& value, const std::string& path) {
  std::vector<DataEntry> entries;
  if (is_none(value)) return entries;
  if (!is_flow(value)) return {DataEntry{.name = value}};
  read_yaml(value, path, [&](const YAML::Node& node) {
    if (node.IsMap()) {
      entries.push_back(entry_of(node, path));
      return;
    }
    std::size_t index = 0;
    for (const auto& item : node) {
      entries.push_back(entry_of(item, path + "[" + std::to_string(index++) + "]"));
    }
  });
  require_weights(entries, path);
  return entries;
}

std::vector<DataEntry> parse_data_names(const std::string& value, const std::string& path) {
  std::vector<DataEntry> entries;
  for (std::size_t at = 0; at <= value.size();) {
    const std::size_t comma = std::min(value.find(',', at), value.size());
    const std::size_t first = std::min(value.find_first_not_of(" \t", at), comma);
    std::string name = value.substr(first, comma - first);
    name.erase(name.find_last_not_of(" \t") + 1);
    if (name.empty()) throw BadRequest(path + ": \"" + value + "\" has a name that is empty");
    entries.push_back({.name = name});
    at = comma + 1;
  }
  return entries;
}

void require_weights(const std::vector<DataEntry>& entries, const std::string& path) {
  const auto require_all = [&](const char* what, const auto& has) {
    const auto without = std::ranges::find_if_not(entries, has);
    if (without == entries.end() || std::ranges::none_of(entries, has)) return;
    throw BadRequest(path + ": " + without->name.string() + " has no " + what +
                     " and others have: give every data set one, or none");
  };
  require_all("weight", [](const DataEntry& each) { return each.weight.has_value(); });
  require_all("share", [](const DataEntry& each) { return each.share.has_value(); });
  const auto both = std::ranges::find_if(
      entries, [](const DataEntry& each) { return each.weight && each.share; });
  if (both == entries.end()) return;
  throw BadRequest(path + ": " + both->name.string() +
                   " has a weight and a share: a weight says how often its rows are read in a "
                   "pass, a share what part of a mixture they are: give one");
}

bool is_plain(const DataEntry& entry) { return entry == DataEntry{.name = entry.name}; }

std::string names_of(const std::vector<DataEntry>& entries) {
  std::string names;
  for (const DataEntry& each : entries) {
    names.append(names.empty() ? "" : ", ").append(each.name.string());
  }
  return names;
}

const char* to_string(Mixture mixture) {
  switch (mixture) {
    case Mixture::weights:
      return "weights";
    case Mixture::first_exhausted:
      return "first_exhausted";
    case Mixture::all_exhausted:
      return "all_exhausted";
  }
  return "";
}

Mixture parse_mixture(const std::string& value, const std::string& path) {
  return parse_choice(value, path,
                      {Mixture::weights, Mixture::first_exhausted, Mixture::all_exhausted});
}

const char* to_string(DataFormat format) {
  switch (format) {
    case DataFormat::automatic:
      return "auto";
    case DataFormat::text:
      return "text";
    case DataFormat::bytes:
      return "bytes";
    case DataFormat::jsonl:
      return "jsonl";
    case DataFormat::alpaca:
      return "alpaca";
    case DataFormat::sharegpt:
      return "sharegpt";
    case DataFormat::messages:
      return "messages";
    case DataFormat::prompt_completion:
      return "prompt_completion";
    case DataFormat::tokens:
      return "tokens";
  }
  return "";
}

DataFormat parse_data_format(const std::string& value, const std::string& path) {
  return parse_choice(value, path,
                      {DataFormat::automatic, DataFormat::text, DataFormat::bytes,
                       DataFormat::jsonl, DataFormat::alpaca, DataFormat::sharegpt,
                       DataFormat::messages, DataFormat::prompt_completion, DataFormat::tokens});
}

}  // namespace sluice::planner
