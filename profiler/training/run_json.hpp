// Results of a run as JSON: the result and the manifest.
#pragma once

#include <string>

#include "profiler/training/trained_run.hpp"

namespace sluice::profiler {

/// JSON text of a run's result (docs/schemas/train-result.schema.json).
[[nodiscard]] std::string result_json(const TrainedRun& run);
/// JSON text of the manifest in a run's folder (docs/schemas/manifest.schema.json).
[[nodiscard]] std::string manifest_json(const TrainedRun& run);

}  // namespace sluice::profiler
