// Output of `sluice sim --json` (docs/schemas/sim-result.schema.json).
#pragma once

#include <string>

#include "sim/simulate.hpp"

namespace sluice::sim {

/// The simulation's result as one JSON object and a newline, with times in seconds.
[[nodiscard]] std::string write_result(const TaskGraph& graph, const Timeline& timeline);

}  // namespace sluice::sim
