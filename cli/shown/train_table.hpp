// Table that `sluice train` prints for people at a run's end.
#pragma once

#include <string>

#include "profiler/training/trained_run.hpp"

namespace sluice::cli {

/// Text of a table with the predicted and measured values of a run.
[[nodiscard]] std::string result_table(const profiler::TrainedRun& run);

}  // namespace sluice::cli
