// Check of the names of models, machines and policies in an experiment.
#pragma once

#include "profiler/ablation/experiment.hpp"

namespace sluice::profiler {

/// Throws BadRequest where the baseline or a level names a model, a machine or a policy that does
/// not exist, with the place and the nearest name: a misspelt name is an error, not a cell that
/// cannot run.
void require_known_names(const Experiment& experiment);

}  // namespace sluice::profiler
