// Summary of a run's data as text.
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

}  // namespace sluice::cli
