// Reads EXPERIMENT.yaml.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <regex>
#include <set>
#include <utility>

#include "planner/catalogue/store.hpp"
#include "planner/effort/search_effort.hpp"
#include "planner/files/choice.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/files/yaml_document.hpp"
#include "profiler/ablation/baseline_override.hpp"
#include "profiler/ablation/experiment.hpp"
#include "profiler/ablation/level_keys.hpp"
#include "sim/error.hpp"
#include "sim/nearest_name.hpp"
#include "sim/units_text.hpp"

namespace sluice::profiler {
namespace {

/// Largest number of cells: more files in one folder are of no use.
constexpr std::size_t kMostCells = 100'000;

/// Whether a key matters to training alone, so that cells that differ in it would be equal.
bool changes_no_cell(const std::string& path) {
  static const std::set<std::string> keys = {"out",       "steps",     "save_every",
                                             "keep_last", "keep_best", "evaluate_every"};
  return keys.contains(path.starts_with("job.") ? path.substr(4) : path);
}

class ExperimentReader {
 public:
  explicit ExperimentReader(const std::string& where) : where_(where) {}

  Experiment read(const YAML::Node& root) {
    if (!root.IsMap()) refuse(root, "must hold name, baseline and factors");
    each(
        root,
        {{"name", [this](const YAML::Node& n) { experiment_.name = name_of(n); }},
         {"question", [this](const YAML::Node& n) { experiment_.question = question_of(n); }},
         {"baseline", [this](const YAML::Node& n) { baseline(n); }},
         {"factors", [this](const YAML::Node& n) { factors(n); }},
         {"design", [this](const YAML::Node& n) { design(n); }},
         {"on", [this](const YAML::Node& n) { on(n); }},
         {"effort", [this](const YAML::Node& n) { effort(n); }},
         {"seed", [this](const YAML::Node& n) { experiment_.seed = count(n, "seed", 0); }},
         {"repeats", [this](const YAML::Node& n) { experiment_.repeats = count(n, "repeats", 1); }},
         {"steps", [this](const YAML::Node& n) { experiment_.steps = count(n, "steps", 2); }},
         {"warm_up",
          [this](const YAML::Node& n) { experiment_.warm_up = count(n, "warm_up", 0); }}});
    for (const char* needed : {"name", "baseline", "factors"}) {
      if (!root[needed]) throw BadRequest(where_ + ": " + needed + " is missing");
    }
    if (experiment_.design == Design::paired) require_equal_levels();
    require_few_cells();
    if (const auto contest = contest_of(experiment_)) {
      refuse(factor_nodes_[contest->factor],
             "factors: " + contest->what + "; make one factor of them");
    }
    std::ranges::copy(notes_, std::back_inserter(experiment_.baseline.notes));
    return experiment_;
  }

 private:
  using Readers = std::vector<std::pair<std::string, std::function<void(const YAML::Node&)>>>;

  void each(const YAML::Node& map, const Readers& readers) {
    std::set<std::string> seen;
    for (const auto& item : map) {
      const std::string key = key_of(item.first, "a key");
      if (!seen.insert(key).second) refuse(item.first, key + " is given twice");
      const auto found = std::find_if(readers.begin(), readers.end(),
                                      [&key](const auto& known) { return known.first == key; });
      if (found == readers.end()) {
        std::vector<std::string> names;
        names.reserve(readers.size());
        for (const auto& known : readers) names.push_back(known.first);
        refuse(item.first, "unknown key \"" + key + "\"" + sim::did_you_mean(key, names));
      }
      found->second(item.second);
    }
  }

  std::string name_of(const YAML::Node& node) {
    std::string name = word(node, "name");
    static const std::regex kFileName("[A-Za-z0-9][A-Za-z0-9._-]*");
    if (!std::regex_match(name, kFileName)) {
      refuse(node,
             "name: \"" + name + "\" names a folder: letters of ASCII, digits, '.', '_' and '-'");
    }
    return name;
  }

  std::string question_of(const YAML::Node& node) {
    return node.IsNull() ? "" : word(node, "question");
  }

  std::int64_t count(const YAML::Node& node, const char* field, std::int64_t least) {
    const std::int64_t value = planner::parse_count(
        text_of(node, field), where_ + ": line " + line_of(node) + ": " + field);
    if (value < least) {
      refuse(node, std::string(field) + ": must be at least " + std::to_string(least));
    }
    return value;
  }

  void baseline(const YAML::Node& node) {
    if (!node.IsMap()) refuse(node, "baseline: must hold the keys of a RUN.yaml");
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) continue;
      const auto why = why_no_baseline_has(entry.first.Scalar());
      if (why) refuse(entry.first, "baseline: " + *why);
    }
    experiment_.baseline = planner::run_from_yaml(node, where_ + ": baseline");
  }

  void factors(const YAML::Node& node) {
    if (!node.IsMap() || node.size() == 0) refuse(node, "factors: must hold NAME: {...} maps");
    for (const auto& item : node) {
      experiment_.factors.push_back(factor(item.first, item.second));
      factor_nodes_.push_back(item.first);
    }
  }

  Factor factor(const YAML::Node& key, const YAML::Node& node) {
    Factor factor{.name = name_within(key, "factors: a name"), .levels = {}};
    const auto same = [&factor](const Factor& other) { return other.name == factor.name; };
    if (std::any_of(experiment_.factors.begin(), experiment_.factors.end(), same)) {
      refuse(key, "factors: " + factor.name + " is given twice");
    }
    if (!node.IsMap())
      refuse(node, factor.name + ": must be a map of path and values, or of levels");
    std::string path;
    YAML::Node values, levels;
    each(node, {{"path", [&path, this](const YAML::Node& n) { path = word(n, "path"); }},
                {"values", [&values](const YAML::Node& n) { values = n; }},
                {"levels", [&levels](const YAML::Node& n) { levels = n; }}});
    const bool listed = values.IsDefined() && values.IsSequence() && !path.empty();
    const bool named = levels.IsDefined() && levels.IsMap();
    if (listed == named) {
      refuse(node,
             factor.name + ": needs path and a list of values, or levels: {NAME: {PATH: VALUE}}");
    }
    if (listed) {
      for (const auto& value : values) {
        factor.levels.push_back({text_of(value, factor.name), {}});
        set(value, factor, factor.levels.back(), path);
      }
    } else {
      for (const auto& item : levels) add_level(factor, item.first, item.second);
    }
    if (factor.levels.size() < 2) refuse(node, factor.name + ": needs at least two levels");
    std::set<std::string> names;
    for (const Level& level : factor.levels) {
      if (names.insert(level.name).second) continue;
      refuse(node, factor.name + ": the level " + level.name + " is given twice");
    }
    return factor;
  }

  void add_level(Factor& factor, const YAML::Node& key, const YAML::Node& node) {
    Level& level = factor.levels.emplace_back(Level{name_within(key, "levels: a name"), {}});
    if (node.IsNull()) return;
    if (!node.IsMap())
      refuse(node, level.name + ": must be a map PATH: VALUE ({} is the baseline)");
    std::set<std::string> paths;
    for (const auto& item : node) {
      const std::string path = key_of(item.first, level.name + ": a path");
      if (!paths.insert(path).second) refuse(node, level.name + ": " + path + " is given twice");
      set(item.second, factor, level, path);
    }
  }

  /// Adds a setting whose path and value a run accepts. Fields of a model are checked with the
  /// model.
  void set(const YAML::Node& value, const Factor& factor, Level& level, const std::string& path) {
    const std::string text = text_of(value, level.name + ": " + path);
    if (changes_no_cell(path)) {
      refuse(value,
             factor.name + ": " + level.name + ": " + path +
                 ": changes nothing that cells predict or measure: leave it out" +
                 (path.ends_with("steps") ? " (steps of the experiment itself are measured)" : ""));
    }
    try {
      if (!path.starts_with("model.")) {
        planner::RunConfig scratch;
        planner::set_path(scratch, path, text);
        notes_.insert(scratch.notes.begin(), scratch.notes.end());
      }
    } catch (const BadRequest& error) {
      const std::string reason = error.what();
      refuse(value, factor.name + ": " + level.name + ": " +
                        (reason.starts_with(path) ? "" : path + ": ") + reason);
    }
    level.settings.push_back({path, text});
  }

  void design(const YAML::Node& node) {
    experiment_.design = planner::parse_choice(
        text_of(node, "design"), where_ + ": line " + line_of(node) + ": design",
        {Design::full, Design::one_at_a_time, Design::paired});
  }

  void on(const YAML::Node& node) {
    experiment_.on = parse_ground(text_of(node, "on"), where_ + ": line " + line_of(node) + ": on");
  }

  void require_equal_levels() const {
    const std::size_t levels = experiment_.factors.front().levels.size();
    for (const Factor& factor : experiment_.factors) {
      if (factor.levels.size() == levels) continue;
      throw BadRequest(where_ + ": design paired: " + factor.name + " has " +
                       std::to_string(factor.levels.size()) + " levels and " +
                       experiment_.factors.front().name + " has " + std::to_string(levels) +
                       ": give them as many, or choose full or one-at-a-time");
    }
  }

  void require_few_cells() const {
    // Other designs have no more cells than levels are written.
    if (experiment_.design != Design::full) return;
    std::size_t cells = 1;
    for (const Factor& factor : experiment_.factors) {
      cells *= factor.levels.size();
      if (cells <= kMostCells) continue;
      throw BadRequest(where_ + ": design full: there are more than " + std::to_string(kMostCells) +
                       " cells: leave out factors or levels, or choose one-at-a-time or paired");
    }
  }

  void effort(const YAML::Node& node) {
    const std::string field = where_ + ": line " + line_of(node) + ": effort";
    experiment_.effort = planner::parse_number(text_of(node, "effort"), field);
    static_cast<void>(planner::search_effort(experiment_.effort, field));
  }

  /// Text of `node`, which must be a scalar; messages call it `what`.
  std::string word(const YAML::Node& node, const std::string& what) const {
    if (!node.IsScalar()) refuse(node, what + ": must be one word or text");
    return node.Scalar();
  }

  std::string key_of(const YAML::Node& node, const std::string& what) const {
    std::string key = word(node, what);
    if (key == "<<")
      refuse(node, "<<: merge keys are not read: write the keys out (anchors and aliases are)");
    return key;
  }

  /// A name within a cell's name: text that fits in one line of a list.
  std::string name_within(const YAML::Node& node, const std::string& what) const {
    std::string name = word(node, what);
    if (name.empty()) refuse(node, what + ": must not be empty");
    if (std::ranges::any_of(name, [](unsigned char letter) { return letter < 0x20; })) {
      refuse(node, what + ": must be one line, without tabs");
    }
    return name;
  }

  /// Text of a value as set_path takes it; lists as "[a,b]".
  std::string text_of(const YAML::Node& node, const std::string& what) const {
    if (node.IsNull()) return "null";
    if (node.IsScalar()) return node.Scalar();
    if (!node.IsSequence()) refuse(node, what + ": must be a word, a number or a list of them");
    std::string text = "[";
    for (const auto& item : node) {
      text.append(text.size() > 1 ? "," : "").append(word(item, what + ": each of a list"));
    }
    return text + "]";
  }

  static std::string line_of(const YAML::Node& node) {
    return std::to_string(std::max(node.Mark().line, 0) + 1);  // An empty file has no lines.
  }
  [[noreturn]] void refuse(const YAML::Node& node, const std::string& reason) const {
    throw BadRequest(where_ + ": line " + line_of(node) + ": " + reason);
  }

  const std::string& where_;
  Experiment experiment_;
  /// Nodes at which the factors' names stand, for messages.
  std::vector<YAML::Node> factor_nodes_;
  std::set<std::string> notes_;  ///< Notes on keys that change nothing here.
};

}  // namespace

Experiment experiment_from_yaml(const std::string& text, const std::string& where) {
  Experiment experiment;
  planner::read_yaml(text, where, [&](const YAML::Node& root) {
    experiment = ExperimentReader(where).read(root);
  });
  return experiment;
}

Experiment read_experiment(const std::filesystem::path& file) {
  return experiment_from_yaml(planner::read_whole_file(file), file.string());
}

}  // namespace sluice::profiler
