// Plan fields that the user fixed.
#pragma once

#include <functional>

#include "planner/plans/plan.hpp"

namespace sluice::planner {

/// Writes what the user fixed into a plan (apply_plan_overrides); may leave it invalid. Empty where
/// nothing is fixed.
using Pins = std::function<void(Plan&)>;

}  // namespace sluice::planner
