// Versions of how a run's data become tokens.
#pragma once

#include <cstdint>

namespace sluice::planner {

/// How data become tokens: `data_reading` of RUN.yaml, as a number. A run goes on with the one that
/// it began with.
enum class DataReading : std::int64_t {
  /// Until version 0.2.0: tokens that stand beside tokenizer.json are not added, fields that a row
  /// of a table lacks within a column are null, the shipped templates of qwen2.5, qwen3 and
  /// llama3.1 write no tools, and the first token of the next question may end an answer.
  first = 1,
  present = 2,
};

}  // namespace sluice::planner
