// Memory by phase and SSD wear as JSON, for `buy --json` and `predict --json`.
#pragma once

#include "planner/requests/run_needs.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {

[[nodiscard]] sim::Json phases_json(const PhaseMemory& memory);
[[nodiscard]] sim::Json wear_json(const SsdWear& wear);

}  // namespace sluice::planner
