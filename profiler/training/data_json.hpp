// Summary of a run's data as JSON.
#pragma once

#include <string>

#include "profiler/training/shown_data.hpp"

namespace sluice::profiler {

/// Everything that `sluice data --json` prints: one JSON object (docs/schemas/data.schema.json).
[[nodiscard]] std::string data_json(const ShownData& data);

}  // namespace sluice::profiler
