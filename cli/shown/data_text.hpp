// Summary of a run's data, as text and as JSON.
#pragma once

#include <optional>
#include <string>

#include "cli/shown/shown_row.hpp"
#include "engine/datasets/data.hpp"
#include "engine/datasets/data_summary.hpp"

namespace sluice::cli {

/// Share of a run's tokens that is learnt below which data_warnings() gives a warning.
inline constexpr double kFewLearnt = 0.03;

/// Share of the data's tokens that is learnt.
[[nodiscard]] double learnt_share(const engine::DataSummary& summary);

/// Everything that `sluice data` prints.
[[nodiscard]] std::string data_text(const engine::DataSummary& summary,
                                    const std::optional<engine::PackedSequences>& packed,
                                    LearntMarks marks);
/// Everything that `sluice data --json` prints: one JSON object (docs/schemas/data.schema.json).
[[nodiscard]] std::string data_json(const engine::DataSummary& summary,
                                    const std::optional<engine::PackedSequences>& packed);

/// Line with the share of tokens that is learnt, which `train` prints below its summary of the
/// data.
[[nodiscard]] std::string learnt_line(const engine::DataSummary& summary);
/// Warnings, one text each: of data with few tokens to learn, and of rows that have none within
/// seq_len.
[[nodiscard]] std::vector<std::string> data_warnings(const engine::DataSummary& summary);

}  // namespace sluice::cli
