// What is said of a run's data before it is trained: a line, and warnings.
#pragma once

#include <string>
#include <vector>

#include "engine/datasets/data.hpp"
#include "engine/datasets/data_summary.hpp"

namespace sluice::profiler {

/// Share of a run's tokens that is learnt below which data_warnings() gives a warning.
inline constexpr double kFewLearnt = 0.03;

/// Share of the tokens in the run's sequences that is learnt; what is cut off or left out does not
/// count.
[[nodiscard]] double learnt_share(const engine::DataSummary& summary);

/// The data in a line: what they are and how much of them is learnt. `summary` is that of `text`.
[[nodiscard]] std::string data_line(const engine::WindowedText& text,
                                    const engine::DataSummary& summary);
/// Warnings, one text each: of data with few tokens to learn, and of rows that have none within
/// seq_len.
[[nodiscard]] std::vector<std::string> data_warnings(const engine::DataSummary& summary);

}  // namespace sluice::profiler
