// Table that `sluice train` prints for people at a run's end.
#pragma once

#include <string>

#include "profiler/training/trained_run.hpp"

namespace sluice::cli {

/// Table of predicted and measured values for the terminal.
[[nodiscard]] std::string result_table(const profiler::TrainedRun& run);

}  // namespace sluice::cli
