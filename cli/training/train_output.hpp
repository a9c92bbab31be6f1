// Output of `sluice train` about a run: result, table, manifest.
#pragma once

#include <string>

#include "cli/training/trained_run.hpp"

namespace sluice::cli {

/// JSON of the result (docs/schemas/train-result.schema.json).
[[nodiscard]] std::string result_json(const TrainedRun& run);
/// Manifest of the run's folder (docs/schemas/manifest.schema.json).
[[nodiscard]] std::string manifest_json(const TrainedRun& run);
/// Table of predicted and measured values for the terminal.
[[nodiscard]] std::string result_table(const TrainedRun& run);

}  // namespace sluice::cli
