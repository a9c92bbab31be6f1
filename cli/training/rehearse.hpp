// Implementation of `sluice train RUN --rehearse`: the run's true step graph on a host that is too
// small for it.
#pragma once

#include "cli/words/interrupt.hpp"
#include "planner/requests/run_arguments.hpp"

namespace sluice::cli {

/// Predicts and rehearses the requested run, prints the results and returns the exit code. Throws
/// BadRequest for flags that a rehearsal does not support, Error(not_converged) if values did not
/// stay finite and normal.
int rehearse(planner::RunArguments request, InterruptFlag& interrupt);

}  // namespace sluice::cli
