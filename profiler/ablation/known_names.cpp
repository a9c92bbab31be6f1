#include "profiler/ablation/known_names.hpp"

#include <set>
#include <string>

#include "planner/catalogue/catalogue.hpp"
#include "planner/policies/policy.hpp"
#include "sim/error.hpp"

namespace sluice::profiler {
namespace {

/// Looks each name up once.
class NamesOfOthers {
 public:
  void look_up(const std::string& where, const std::string& path, const std::string& name) {
    if (name.empty() || !seen_.insert(path + " " + name).second) return;
    try {
      if (path == "model") static_cast<void>(planner::find_model(name));
      if (path == "machine") static_cast<void>(planner::find_machine(name));
      if (path == "policy") planner::require_policy(name);
    } catch (const BadRequest& error) {
      throw BadRequest(where + ": " + error.what());
    }
  }

 private:
  std::set<std::string> seen_;
};

}  // namespace

void require_known_names(const Experiment& experiment) {
  NamesOfOthers names;
  std::set<std::string> in_every_cell;
  for (const Factor& factor : experiment.factors) {
    std::set<std::string> here;
    for (const Level& level : factor.levels) {
      std::set<std::string> of_level;
      for (const Setting& setting : level.settings) {
        of_level.insert(setting.path);
        names.look_up("factors: " + factor.name + ": " + level.name, setting.path, setting.value);
      }
      if (&level == &factor.levels.front()) here = of_level;
      std::erase_if(here, [&](const std::string& path) { return !of_level.contains(path); });
    }
    in_every_cell.merge(here);
  }
  // The baseline's value of a key that levels set in every cell is not used.
  const auto& run = experiment.baseline;
  if (!in_every_cell.contains("model")) names.look_up("baseline", "model", run.model);
  if (!in_every_cell.contains("machine")) names.look_up("baseline", "machine", run.machine);
  if (run.policy && !in_every_cell.contains("policy")) {
    names.look_up("baseline", "policy", *run.policy);
  }
}

}  // namespace sluice::profiler
