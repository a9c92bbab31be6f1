// Names that an experiment takes from elsewhere.
#pragma once

#include "profiler/ablation/experiment.hpp"

namespace sluice::profiler {

/// Throws BadRequest where the baseline or a level has a model, a machine or a policy that there is
/// not, naming it, where it stands and the nearest name: a name that is misspelt is no cell that
/// cannot run.
void require_known_names(const Experiment& experiment);

}  // namespace sluice::profiler
