// Summary of a run's data, as text and as JSON.
#pragma once

#include <optional>
#include <string>

#include "cli/shown/shown_row.hpp"
#include "engine/datasets/data.hpp"
#include "engine/datasets/data_summary.hpp"

namespace sluice::cli {

/// Everything that `sluice data` prints.
[[nodiscard]] std::string data_text(const engine::DataSummary& summary,
                                    const std::optional<engine::PackedSequences>& packed,
                                    LearntMarks marks);
/// Everything that `sluice data --json` prints: one JSON object (docs/schemas/data.schema.json).
[[nodiscard]] std::string data_json(const engine::DataSummary& summary,
                                    const std::optional<engine::PackedSequences>& packed);

}  // namespace sluice::cli
