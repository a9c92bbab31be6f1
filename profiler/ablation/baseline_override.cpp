#include "profiler/ablation/baseline_override.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "profiler/ablation/cells.hpp"
#include "profiler/ablation/level_keys.hpp"
#include "sim/error.hpp"

namespace sluice::profiler {
namespace {

bool sets(const Level& level, const std::string& key) {
  return std::ranges::any_of(
      level.settings, [&key](const Setting& setting) { return keys_of(setting).contains(key); });
}

/// Names of factors whose levels together set the key in every cell; empty where some cell has the
/// baseline's value.
std::set<std::string> factors_over(const Experiment& experiment, const std::string& key) {
  std::vector<std::vector<bool>> by_factor;
  std::set<std::string> names;
  for (const Factor& factor : experiment.factors) {
    std::vector<bool>& levels = by_factor.emplace_back();
    for (const Level& level : factor.levels) levels.push_back(sets(level, key));
    if (std::ranges::find(levels, true) != levels.end()) names.insert(factor.name);
  }
  for (const std::vector<std::size_t>& choice : choices_of(experiment)) {
    bool set = false;
    for (std::size_t f = 0; f < choice.size(); ++f) set = set || by_factor[f][choice[f]];
    if (!set) return {};
  }
  return names;
}

}  // namespace

std::optional<std::string> why_no_baseline_has(const std::string& path) {
  if (!path.starts_with("model.")) return std::nullopt;
  return path +
         ": fields of config.json are set by factors alone; as the baseline's model, name a " +
         "config.json that has it";
}

void override_baseline(Experiment& experiment, const Setting& setting) {
  if (const auto why = why_no_baseline_has(setting.path)) throw BadRequest(*why);
  planner::set_path(experiment.baseline, setting.path, setting.value);
  std::set<std::string> factors;
  for (const std::string& key : keys_of(setting)) {
    std::set<std::string> over = factors_over(experiment, key);
    if (over.empty()) return;
    factors.merge(over);
  }
  throw BadRequest(fmt::format(
      "{}: no cell has the baseline's, for levels of {} {} set it in every one; change "
      "those levels, or leave it out",
      setting.path, factors.size() > 1 ? "factors" : "factor", fmt::join(factors, " and ")));
}

}  // namespace sluice::profiler
