// Execution of the steps of a run, from the plan to the result.
#pragma once

#include "profiler/training/train_parts.hpp"
#include "profiler/training/trained_run.hpp"

namespace sluice::profiler {

/// Trains the run, and fills in the members of `run` that training yields. Throws what training
/// throws; if a run diverges the message names its last checkpoint.
void train_run(TrainedRun& run, const TrainParts& parts);

}  // namespace sluice::profiler
