// The steps of a run: what happens between a plan and a result.
#pragma once

#include "profiler/training/train_parts.hpp"
#include "profiler/training/trained_run.hpp"

namespace sluice::profiler {

/// Trains and fills in what `run` lacks. Throws what training throws; where a run diverges the line
/// names its last checkpoint.
void train_run(TrainedRun& run, const TrainParts& parts);

}  // namespace sluice::profiler
