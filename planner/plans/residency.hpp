// Whether a plan may keep master weights and optimizer state on the device.
#pragma once

namespace sluice::planner {

enum class Residency {
  automatic,  ///< The planner chooses ("auto").
  host,       ///< Master weights, m and v stay out of HBM.
};

const char* to_string(Residency residency);

}  // namespace sluice::planner
