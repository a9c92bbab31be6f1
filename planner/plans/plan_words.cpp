#include "planner/plans/plan_words.hpp"

#include <algorithm>
#include <cstdint>

namespace sluice::planner {

std::string describe_plan(const Plan& plan) {
  const auto kept = [&](Keep keep) {
    return std::count_if(plan.units.begin() + 1, plan.units.end() - 1,
                         [&](const UnitPlan& unit) { return unit.keep == keep; });
  };
  const auto blocks = static_cast<std::int64_t>(plan.units.size()) - 2;
  std::string keeps = "mixed";
  for (const auto keep : {Keep::input, Keep::selective, Keep::all}) {
    if (kept(keep) == blocks) keeps = to_string(keep);
  }
  const auto resident =
      std::count_if(plan.units.begin() + 1, plan.units.end() - 1,
                    [](const UnitPlan& unit) { return unit.weights == Tier::hbm; });
  const auto count = [](std::int64_t number, const char* noun) {
    return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
  };
  return count(plan.weight_buffers, "weight buffer") + ", depth " +
         std::to_string(plan.prefetch_depth) + ", " + count(plan.rounds, "round") + " of " +
         std::to_string(plan.micro_batches_per_round) + ", keeps " + keeps + ", " +
         std::to_string(resident) + " of " + std::to_string(blocks) + " blocks resident, " +
         count(plan.threads, "thread");
}

}  // namespace sluice::planner
