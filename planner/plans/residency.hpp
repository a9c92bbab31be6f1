// Setting of a run that says whether its plan may keep master weights and optimizer state on the
// device.
#pragma once

#include "planner/plans/plan.hpp"

namespace sluice::planner {

enum class Residency {
  automatic,  ///< The planner chooses ("auto" in files and flags).
  host,  ///< Master weights, m and v may not live in device memory ("host" in files and flags).
};

const char* to_string(Residency residency);

/// Whether no unit of the plan has its state on the device where `residency` forbids it.
[[nodiscard]] bool keeps_residency(const Plan& plan, Residency residency);

}  // namespace sluice::planner
