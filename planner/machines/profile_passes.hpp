// A profile's measured passes as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "planner/machines/machine.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {

[[nodiscard]] nlohmann::ordered_json passes_json(const std::vector<MeasuredPass>& passes);
/// Reads a profile's list of passes. Throws BadRequest that names the pass and the field: a time
/// that is not above 0, a key given twice, ...
[[nodiscard]] std::vector<MeasuredPass> read_passes(const sim::JsonObjects& passes);

}  // namespace sluice::planner
