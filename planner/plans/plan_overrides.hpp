// Plan fields that the run's owner pins (`--set plan.NAME=VALUE`).
#pragma once

#include <string>

namespace sluice::planner {

/// Throws BadRequest unless `name` is a plan field (see apply_plan_overrides) and `value` one of
/// its values; whether the value suits a job is for validate(Plan, Job).
void check_plan_override(const std::string& name, const std::string& value);

}  // namespace sluice::planner
