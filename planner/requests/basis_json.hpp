// JSON of a prediction's basis: its numbers, causes of its error, and what would narrow it.
#pragma once

#include "planner/predictions/predict.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {

/// The basis of the prediction as a JSON object {"half_width_s", "numbers", "narrow", "errors"}:
/// what `predict --explain --json` prints as `basis` (docs/schemas/predict.schema.json).
[[nodiscard]] sim::Json basis_json(const Prediction& prediction);

/// The causes of a predicted step's error, read from a file that `predict --explain --json`
/// printed. Throws BadRequest naming the file and what it lacks.
[[nodiscard]] StepErrors read_basis_errors(const std::string& path);

}  // namespace sluice::planner
