// What `sluice sim --json` prints: docs/schemas/sim-result.schema.json.
#pragma once

#include <string>

#include "sim/simulate.hpp"

namespace sluice::sim {

/// One JSON object and a newline; times in seconds.
[[nodiscard]] std::string write_result(const TaskGraph& graph, const Timeline& timeline);

}  // namespace sluice::sim
