// What a run came to, as JSON.
#pragma once

#include <string>

#include "profiler/training/trained_run.hpp"

namespace sluice::profiler {

/// docs/schemas/train-result.schema.json.
[[nodiscard]] std::string result_json(const TrainedRun& run);
/// docs/schemas/manifest.schema.json.
[[nodiscard]] std::string manifest_json(const TrainedRun& run);

}  // namespace sluice::profiler
