#include "planner/plans/residency.hpp"

#include <algorithm>

namespace sluice::planner {

const char* to_string(Residency residency) {
  return residency == Residency::automatic ? "auto" : "host";
}

bool keeps_residency(const Plan& plan, Residency residency) {
  return residency != Residency::host || std::ranges::none_of(plan.units, [](const UnitPlan& unit) {
           return unit.state == Tier::hbm;
         });
}

}  // namespace sluice::planner
