// Summary of a run's data, as text and as JSON.
#pragma once

#include <optional>
#include <string>

#include "cli/shown/shown_row.hpp"
#include "engine/datasets/data.hpp"
#include "engine/datasets/data_summary.hpp"

namespace sluice::cli {

/// Shares of the tokens that are learnt below which a run is warned of.
inline constexpr double kFewLearnt = 0.03;

/// Share of the data's tokens that is learnt.
[[nodiscard]] double learnt_share(const engine::DataSummary& summary);

/// Everything that `sluice data` prints.
[[nodiscard]] std::string data_text(const engine::DataSummary& summary,
                                    const std::optional<engine::PackedSequences>& packed,
                                    LearntMarks marks);
/// The same as one JSON object (docs/schemas/data.schema.json).
[[nodiscard]] std::string data_json(const engine::DataSummary& summary,
                                    const std::optional<engine::PackedSequences>& packed);

/// The line on the share of tokens that is learnt, which only `train` prints below the data's.
[[nodiscard]] std::string learnt_line(const engine::DataSummary& summary);
/// Warnings of data with few tokens to learn, or with rows that have none. One text each.
[[nodiscard]] std::vector<std::string> data_warnings(const engine::DataSummary& summary);

}  // namespace sluice::cli
