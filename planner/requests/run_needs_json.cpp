#include "planner/requests/run_needs_json.hpp"

#include <nlohmann/json.hpp>

namespace sluice::planner {

sim::Json phases_json(const PhaseMemory& memory) {
  sim::Json json = sim::Json::object();
  for (const Phase phase : kPhases) {
    sim::Json tiers = sim::Json::object();
    for (const Tier tier : {Tier::hbm, Tier::host, Tier::disk}) {
      const PhaseNeed& need = at(memory, phase, tier);
      tiers[to_string(tier)] = {{"peak_bytes", need.peak.count()},
                                {"capacity_bytes", need.capacity.count()},
                                {"margin_bytes", need.margin().count()},
                                {"fits", need.fits()}};
    }
    json[to_string(phase)] = std::move(tiers);
  }
  return json;
}

sim::Json wear_json(const SsdWear& wear) {
  return {{"written_a_step_bytes", wear.written_a_step.count()},
          {"endurance_bytes", wear.endurance},
          {"steps", wear.steps ? sim::Json(*wear.steps) : sim::Json(nullptr)},
          {"checkpoints", wear.checkpoints}};
}

}  // namespace sluice::planner
