#include "profiler/ablation/experiment.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <regex>
#include <set>

#include "planner/choice.hpp"
#include "planner/search_effort.hpp"
#include "planner/store.hpp"
#include "planner/units_text.hpp"
#include "sim/error.hpp"
#include "sim/nearest_name.hpp"

namespace sluice::profiler {
namespace {

/// Text of a value as set_path takes it; lists as "[a,b]".
std::string scalar_text(const YAML::Node& node) {
  if (node.IsNull()) return "null";
  if (node.IsScalar()) return node.Scalar();
  std::string text = "[";
  for (const auto& item : node) {
    text.append(text.size() > 1 ? "," : "").append(item.IsScalar() ? item.Scalar() : "?");
  }
  return text + "]";
}

class ExperimentReader {
 public:
  explicit ExperimentReader(const std::string& where) : where_(where) {}

  Experiment read(const YAML::Node& root) {
    if (!root.IsMap()) refuse(root, "must hold name, baseline and factors");
    each(
        root,
        {{"name", [this](const YAML::Node& n) { experiment_.name = name_of(n); }},
         {"question", [this](const YAML::Node& n) { experiment_.question = n.as<std::string>(); }},
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
    return experiment_;
  }

 private:
  using Readers = std::vector<std::pair<std::string, std::function<void(const YAML::Node&)>>>;

  void each(const YAML::Node& map, const Readers& readers) {
    std::set<std::string> seen;
    for (const auto& item : map) {
      const auto key = item.first.as<std::string>();
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
    auto name = node.as<std::string>();
    static const std::regex kFileName("[A-Za-z0-9][A-Za-z0-9._-]*");
    if (!std::regex_match(name, kFileName)) {
      refuse(node, "name: \"" + name + "\" names a folder: letters, digits, '.', '_' and '-'");
    }
    return name;
  }

  std::int64_t count(const YAML::Node& node, const char* field, std::int64_t least) {
    const std::int64_t value =
        planner::parse_count(scalar_text(node), where_ + ": line " + line_of(node) + ": " + field);
    if (value < least) {
      refuse(node, std::string(field) + ": must be at least " + std::to_string(least));
    }
    return value;
  }

  void baseline(const YAML::Node& node) {
    if (!node.IsMap()) refuse(node, "baseline: must hold the keys of a RUN.yaml");
    YAML::Emitter text;
    text << node;
    experiment_.baseline = planner::run_from_yaml(text.c_str(), where_ + ": baseline");
  }

  void factors(const YAML::Node& node) {
    if (!node.IsMap() || node.size() == 0) refuse(node, "factors: must hold NAME: {...} maps");
    for (const auto& item : node) {
      Factor next = factor(item.first, item.second);
      for (const Factor& other : experiment_.factors) {
        const auto path = only_path(other);
        if (!path || path != only_path(next)) continue;
        refuse(item.first, "factors: " + other.name + " and " + next.name + " both set " + *path +
                               "; make one factor of them");
      }
      experiment_.factors.push_back(std::move(next));
    }
  }

  /// Of a factor of values: the path that each of its levels sets, and nothing else.
  static std::optional<std::string> only_path(const Factor& factor) {
    std::optional<std::string> path;
    for (const Level& level : factor.levels) {
      if (level.settings.size() != 1) return std::nullopt;
      if (path && *path != level.settings.front().path) return std::nullopt;
      path = level.settings.front().path;
    }
    return path;
  }

  Factor factor(const YAML::Node& key, const YAML::Node& node) {
    Factor factor{.name = key.as<std::string>(), .levels = {}};
    const auto same = [&factor](const Factor& other) { return other.name == factor.name; };
    if (std::any_of(experiment_.factors.begin(), experiment_.factors.end(), same)) {
      refuse(key, "factors: " + factor.name + " is given twice");
    }
    if (!node.IsMap())
      refuse(node, factor.name + ": must be a map of path and values, or of levels");
    std::string path;
    YAML::Node values, levels;
    each(node, {{"path", [&path](const YAML::Node& n) { path = n.as<std::string>(); }},
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
        const std::string text = scalar_text(value);
        factor.levels.push_back({text, {{path, text}}});
      }
    } else {
      for (const auto& item : levels) factor.levels.push_back(level(item.first, item.second));
    }
    if (factor.levels.size() < 2) refuse(node, factor.name + ": needs at least two levels");
    std::set<std::string> names;
    for (const Level& level : factor.levels) {
      if (names.insert(level.name).second) continue;
      refuse(node, factor.name + ": the level " + level.name + " is given twice");
    }
    return factor;
  }

  Level level(const YAML::Node& key, const YAML::Node& node) {
    Level level{.name = key.as<std::string>(), .settings = {}};
    if (node.IsNull()) return level;
    if (!node.IsMap())
      refuse(node, level.name + ": must be a map PATH: VALUE ({} is the baseline)");
    std::set<std::string> paths;
    for (const auto& item : node) {
      level.settings.push_back({item.first.as<std::string>(), scalar_text(item.second)});
      const std::string& path = level.settings.back().path;
      if (!paths.insert(path).second) refuse(node, level.name + ": " + path + " is given twice");
    }
    return level;
  }

  void design(const YAML::Node& node) {
    experiment_.design =
        planner::parse_choice(scalar_text(node), where_ + ": line " + line_of(node) + ": design",
                              {Design::full, Design::one_at_a_time, Design::paired});
  }

  void on(const YAML::Node& node) {
    experiment_.on = parse_ground(scalar_text(node), where_ + ": line " + line_of(node) + ": on");
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

  void effort(const YAML::Node& node) {
    const std::string field = where_ + ": line " + line_of(node) + ": effort";
    experiment_.effort = planner::parse_number(scalar_text(node), field);
    static_cast<void>(planner::search_effort(experiment_.effort, field));
  }

  static std::string line_of(const YAML::Node& node) {
    return std::to_string(node.Mark().line + 1);
  }
  [[noreturn]] void refuse(const YAML::Node& node, const std::string& reason) const {
    throw BadRequest(where_ + ": line " + line_of(node) + ": " + reason);
  }

  const std::string& where_;
  Experiment experiment_;
};

}  // namespace

Experiment experiment_from_yaml(const std::string& text, const std::string& where) {
  try {
    return ExperimentReader(where).read(YAML::Load(text));
  } catch (const YAML::Exception& error) {
    throw BadRequest(where + ": line " + std::to_string(error.mark.line + 1) + ": " + error.msg);
  }
}

Experiment read_experiment(const std::filesystem::path& file) {
  return experiment_from_yaml(planner::read_whole_file(file), file.string());
}

std::string to_yaml(const Experiment& experiment) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  out << YAML::Key << "name" << YAML::Value << experiment.name;
  out << YAML::Key << "question" << YAML::Value << YAML::DoubleQuoted << experiment.question;
  out << YAML::Key << "design" << YAML::Value << to_string(experiment.design);
  out << YAML::Key << "on" << YAML::Value << to_string(experiment.on);
  out << YAML::Key << "effort" << YAML::Value << experiment.effort;
  out << YAML::Key << "seed" << YAML::Value << experiment.seed;
  out << YAML::Key << "repeats" << YAML::Value << experiment.repeats;
  out << YAML::Key << "steps" << YAML::Value << experiment.steps;
  out << YAML::Key << "warm_up" << YAML::Value << experiment.warm_up;
  out << YAML::Key << "factors" << YAML::Value << YAML::BeginMap;
  for (const Factor& factor : experiment.factors) {
    out << YAML::Key << factor.name << YAML::Value << YAML::BeginMap << YAML::Key << "levels";
    out << YAML::Value << YAML::BeginMap;
    for (const Level& level : factor.levels) {
      out << YAML::Key << YAML::DoubleQuoted << level.name << YAML::Value << YAML::BeginMap;
      for (const Setting& setting : level.settings) {
        out << YAML::Key << setting.path << YAML::Value << YAML::DoubleQuoted << setting.value;
      }
      out << YAML::EndMap;
    }
    out << YAML::EndMap << YAML::EndMap;
  }
  out << YAML::EndMap;
  out << YAML::Key << "baseline" << YAML::Value
      << YAML::Load(planner::to_yaml(experiment.baseline));
  out << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

const char* to_string(Design design) {
  switch (design) {
    case Design::full:
      return "full";
    case Design::one_at_a_time:
      return "one-at-a-time";
    case Design::paired:
      break;
  }
  return "paired";
}

const char* to_string(Ground ground) { return ground == Ground::device ? "device" : "simulation"; }

Ground parse_ground(const std::string& text, const std::string& where) {
  if (text == "both") return Ground::device;  // A device's cells are predicted, too.
  return planner::parse_choice(text, where, {Ground::simulation, Ground::device});
}

}  // namespace sluice::profiler
