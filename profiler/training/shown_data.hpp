// A run's data as they can be shown before anything is trained.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/datasets/data_summary.hpp"
#include "engine/datasets/sequence_layout.hpp"
#include "planner/requests/run_arguments.hpp"
#include "profiler/training/run_observer.hpp"

namespace sluice::profiler {

/// Summary of a run's data, and what packing would make of them.
struct ShownData {
  engine::DataSummary summary;
  /// Sequences that packing=documents would make; none where documents are packed already, or are
  /// one stream.
  std::optional<engine::PackedSequences> packed;
};

/// Reads the data of a run that is stated as for training, or of a run that has begun, which are
/// read with the tokenizer and template that it keeps. The first `rows` rows of each data set are
/// among them, as text, too, where the model has a tokenizer. `strict` refuses rows that would be
/// left out. Throws BadRequest as training would, and where model, data or seq_len are missing.
[[nodiscard]] ShownData show_data(const planner::RunArguments& run, std::int64_t rows, bool strict,
                                  const AmountShown& progress);

}  // namespace sluice::profiler
