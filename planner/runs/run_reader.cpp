// Reads RUN.yaml: ours, or another program's training file.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <set>

#include "planner/files/whole_file.hpp"
#include "planner/files/yaml_document.hpp"
#include "planner/runs/adapter_keys.hpp"
#include "planner/runs/foreign_defaults.hpp"
#include "planner/runs/foreign_keys.hpp"
#include "planner/runs/run_config.hpp"
#include "planner/runs/yaml_text.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// Keys whose value is text, so that digits with a leading zero are a name.
constexpr std::array kNames = {"model",         "data",
                               "dataset_dir",   "template",
                               "date_string",   "machine",
                               "plan",          "policy",
                               "out",           "disk_path",
                               "dataset",       "base_model",
                               "output_dir",    "model_name_or_path",
                               "run_name",      "dataset_name",
                               "working_folder"};

/// Walks a YAML document, sets a path of the run for each scalar, and collects what is refused.
class RunReader {
 public:
  RunReader(RunConfig& run, const std::string& where, std::vector<Refusal>& refusals)
      : run_(run), where_(where), refusals_(refusals) {}

  void read(const YAML::Node& node) {
    if (node.IsNull()) return;
    if (!node.IsMap()) {
      refuse(node, "",
             std::string("must hold `key: value` lines") +
                 (node.IsSequence() ? ": a data file is given by --data" : ""));
      refusals_.push_back(std::move(found_.front().refusal));
      return;
    }
    read_map(node, "");
    fill_foreign_defaults(run_, programs_, keys_);
    // Keys are read in the order of their ranks, and refusals told in the order of the file.
    std::ranges::stable_sort(found_, {}, &Found::line);
    for (Found& each : found_) refusals_.push_back(std::move(each.refusal));
  }

 private:
  void read_map(const YAML::Node& map, const std::string& prefix) {
    std::set<std::string> seen;
    struct Entry {
      YAML::Node key, value;
      std::string path;
    };
    std::vector<Entry> entries;
    for (const auto& item : map) {
      if (!item.first.IsScalar()) {
        refuse(item.first, "", "a key must be a word");
        continue;
      }
      const std::string path = prefix + item.first.Scalar();
      if (item.first.Scalar() == "<<") {
        refuse(item.first, path,
               "<<: merge keys are not read: write the keys out (anchors and aliases are)");
      } else if (!seen.insert(path).second) {
        refuse(item.first, path, path + " is given twice");
      } else {
        entries.push_back({item.first, item.second, path});
      }
    }
    // Nodes are not sorted: assigning one to another changes the document.
    for (const int rank : {0, 1, 2, 3}) {
      for (const Entry& entry : entries) {
        if (rank_of(entry.path) == rank) read_value(entry.key, entry.value, entry.path);
      }
    }
  }

  void read_value(const YAML::Node& key, const YAML::Node& value, const std::string& path) {
    if (const auto program = program_of(path)) programs_.insert(*program);
    keys_.insert(path);
    if (path == "set") {
      if (value.IsMap()) return read_map(value, "");
      if (!value.IsNull()) refuse(key, path, "set: must be a map of its settings");
      return;
    }
    if (value.IsMap()) return read_section(key, value, path);
    if (path == "limits" || path == "columns" || (path == "optimizer" && value.IsNull())) {
      if (!value.IsNull()) refuse(key, path, path + ": must be a map of its settings");
      return;
    }
    if (value.IsSequence()) {
      const bool whole = path == "data" || program_of(path).has_value();
      return set(key, path, whole ? flow_text(value) : joined(value));
    }
    if (value.IsScalar() && is_octal(value) && !is_name(path)) {
      return refuse(key, path,
                    path + ": \"" + value.Scalar() +
                        "\" is octal in YAML 1.1 and decimal elsewhere: write it without the zero");
    }
    set(key, path, value.IsNull() ? "null" : value.Scalar());
  }

  void read_section(const YAML::Node& key, const YAML::Node& map, const std::string& path) {
    if (path == "optimizer" || path == "schedule" || path == "limits" || path == "columns") {
      return read_map(map, path + ".");
    }
    if (path == "data" || program_of(path)) return set(key, path, flow_text(map));
    if (path == "machine" || path == "plan" || path == "policy") {
      return refuse(
          key, path,
          path + ": must be one value; put numbers of it under set: (" + path + ".NAME: VALUE)");
    }
    if (path == "model") {
      return refuse(key, path,
                    "model: must be one value: a catalogue name, a model folder or an id in the "
                    "local cache");
    }
    set(key, path, "a map");  // Refuses unknown keys with the nearest one.
  }

  static bool is_octal(const YAML::Node& value) {
    const std::string& text = value.Scalar();
    return value.Tag() == "?" && text.size() > 1 && text.front() == '0' &&
           text.find_first_not_of("0123456789_") == std::string::npos;
  }

  static bool is_name(const std::string& path) {
    return std::ranges::find(kNames, path) != kNames.end();
  }

  static std::string joined(const YAML::Node& list) {
    std::string text = "[";
    for (const auto& item : list) {
      text.append(text.size() > 1 ? "," : "").append(item.IsScalar() ? item.Scalar() : "?");
    }
    return text + "]";
  }

  void set(const YAML::Node& key, const std::string& path, const std::string& value) {
    try {
      set_path(run_, path, value);
    } catch (const BadRequest& error) {
      refuse(key, path, error.what());
    }
  }

  void refuse(const YAML::Node& node, const std::string& path, const std::string& reason) {
    const int line = node.Mark().line + 1;
    found_.push_back({line, {path, where_ + ": line " + std::to_string(line) + ": " + reason}});
  }

  struct Found {
    int line;
    Refusal refusal;
  };

  RunConfig& run_;
  const std::string& where_;
  std::vector<Refusal>& refusals_;
  std::vector<Found> found_;
  std::set<Program> programs_;  ///< Programs whose keys the file has.
  std::set<std::string> keys_;
};

/// Throws what is refused of a run, adapters among it.
void finish(RunConfig& run, std::vector<Refusal> refusals, const std::string& where) {
  if (auto adapters = adapter_refusal(run, where)) {
    adapters->message = where + ": " + adapters->message;
    refusals.push_back(std::move(*adapters));
  }
  throw_if_any(refusals);
}

}  // namespace

RunConfig run_from_yaml(const YAML::Node& map, const std::string& where) {
  RunConfig run;
  std::vector<Refusal> refusals;
  RunReader(run, where, refusals).read(map);
  finish(run, std::move(refusals), where);
  return run;
}

RunConfig run_from_yaml(const std::string& text, const std::string& where) {
  RunConfig run;
  std::vector<Refusal> refusals;
  read_yaml(text, where, [&](const YAML::Node& map) { RunReader(run, where, refusals).read(map); });
  finish(run, std::move(refusals), where);
  return run;
}

RunConfig read_run(const std::filesystem::path& file, std::vector<Refusal>& refusals) {
  const bool folder = std::filesystem::is_directory(file);
  const std::string path = (folder ? file / "run.yaml" : file).string();
  RunConfig run;
  read_yaml(read_whole_file(path), path,
            [&](const YAML::Node& map) { RunReader(run, path, refusals).read(map); });
  return run;
}

RunConfig read_run(const std::filesystem::path& file) {
  std::vector<Refusal> refusals;
  RunConfig run = read_run(file, refusals);
  finish(run, std::move(refusals), file.string());
  return run;
}

}  // namespace sluice::planner
