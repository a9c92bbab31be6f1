// Plan fields that the user fixed.
#pragma once

#include <functional>

#include "planner/plans/plan.hpp"

namespace sluice::planner {

/// Function that writes the fields fixed by the user into a plan (apply_plan_overrides). The result
/// may be invalid. Empty where nothing is fixed.
using Pins = std::function<void(Plan&)>;

}  // namespace sluice::planner
