// Results of a run as JSON: result, manifest.
#pragma once

#include <string>

#include "profiler/training/trained_run.hpp"

namespace sluice::profiler {

/// JSON of the result (docs/schemas/train-result.schema.json).
[[nodiscard]] std::string result_json(const TrainedRun& run);
/// Manifest of the run's folder (docs/schemas/manifest.schema.json).
[[nodiscard]] std::string manifest_json(const TrainedRun& run);

}  // namespace sluice::profiler
