#include "profiler/ablation/level_keys.hpp"

#include <map>
#include <utility>
#include <vector>

namespace sluice::profiler {
namespace {

using Values = std::map<std::string, std::string>;  ///< Values of a level by key of a run.

Values values_of(const Level& level) {
  Values values;
  for (const Setting& setting : level.settings) {
    for (const std::string& key : keys_of(setting)) values[key] = setting.value;
  }
  return values;
}

std::vector<Values> values_of(const Factor& factor) {
  std::vector<Values> levels;
  for (const Level& level : factor.levels) levels.push_back(values_of(level));
  return levels;
}

/// Whether some cell of the design has level `a` of one factor and level `b` of another.
bool meet(Design design, std::size_t a, std::size_t b) {
  if (design == Design::paired) return a == b;
  return design == Design::full || a == 0 || b == 0;
}

/// The first key that both set, to different values; empty where there is none.
std::string contested(const Values& one, const Values& other) {
  for (const auto& [key, value] : one) {
    const auto same = other.find(key);
    if (same != other.end() && same->second != value) return key;
  }
  return "";
}

struct ContestedLevels {
  std::size_t one, other;
  std::string key;
};

std::optional<ContestedLevels> contested_levels(Design design, const std::vector<Values>& one,
                                                const std::vector<Values>& other) {
  for (std::size_t a = 0; a < one.size(); ++a) {
    for (std::size_t b = 0; b < other.size(); ++b) {
      if (!meet(design, a, b)) continue;
      if (std::string key = contested(one[a], other[b]); !key.empty()) {
        return ContestedLevels{a, b, std::move(key)};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::set<std::string> keys_of(const Setting& setting) {
  if (setting.path.starts_with("model.")) return {setting.path};
  planner::RunConfig scratch;
  planner::set_path(scratch, setting.path, setting.value);
  std::set<std::string> keys = scratch.stated;
  if (keys.erase("schedule") > 0) keys.insert("schedule.kind");
  for (const auto& [name, value] : scratch.machine_overrides) keys.insert("machine." + name);
  for (const auto& [name, value] : scratch.plan_overrides) keys.insert("plan." + name);
  for (const auto& [name, value] : scratch.policy_overrides) keys.insert("policy." + name);
  if (keys.empty()) keys.insert(setting.path);
  return keys;
}

std::optional<Contest> contest_of(const Experiment& experiment) {
  const std::vector<Factor>& factors = experiment.factors;
  std::vector<std::vector<Values>> values;
  for (const Factor& factor : factors) {
    values.push_back(values_of(factor));
    const std::size_t f = values.size() - 1;
    for (std::size_t e = 0; e < f; ++e) {
      if (const auto found = contested_levels(experiment.design, values[e], values[f])) {
        const Factor& other = factors[e];
        return Contest{f, other.name + " and " + factor.name + " both set " + found->key + " (" +
                              other.name + "=" + other.levels[found->one].name + ", " +
                              factor.name + "=" + factor.levels[found->other].name + ")"};
      }
    }
  }
  return std::nullopt;
}

}  // namespace sluice::profiler
