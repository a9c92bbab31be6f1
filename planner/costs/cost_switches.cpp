#include "planner/costs/cost_switches.hpp"

#include "sim/error.hpp"
#include "sim/nearest_name.hpp"

namespace sluice::planner {

void switch_term(CostSwitches& switches, const std::string& name, const std::string& value) {
  std::vector<std::string> names;
  names.reserve(kCostTerms.size());
  for (const auto& [term, member] : kCostTerms) {
    names.emplace_back(term);
    if (name != term) continue;
    // Accepts the words of YAML and of people.
    if (value != "on" && value != "off" && value != "true" && value != "false") {
      throw BadRequest("term." + name + ": \"" + value + "\" must be on or off");
    }
    switches.*member = value == "on" || value == "true";
    return;
  }
  throw BadRequest("term." + name + ": unknown term" + sim::did_you_mean(name, names));
}

void require_all_terms(const CostSwitches& switches) {
  const std::vector<std::string> off = terms_off(switches);
  if (off.empty()) return;
  throw BadRequest("term." + off.front() +
                   ": only predict, plan and ablate answer without a term of the model; leave this "
                   "setting out");
}

std::vector<std::string> terms_off(const CostSwitches& switches) {
  std::vector<std::string> names;
  for (const auto& [term, member] : kCostTerms) {
    if (!(switches.*member)) names.emplace_back(term);
  }
  return names;
}

}  // namespace sluice::planner
