// What `sluice train` says of a run: result, table, manifest.
#pragma once

#include <string>

#include "profiler/training/trained_run.hpp"

namespace sluice::cli {

/// docs/schemas/train-result.schema.json.
[[nodiscard]] std::string result_json(const TrainedRun& run);
/// docs/schemas/manifest.schema.json.
[[nodiscard]] std::string manifest_json(const TrainedRun& run);
/// Predicted beside measured, for the terminal.
[[nodiscard]] std::string result_table(const TrainedRun& run);

}  // namespace sluice::cli
