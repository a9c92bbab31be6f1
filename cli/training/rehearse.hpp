// `sluice train RUN --rehearse`: the run's true step graph on a host that is too small for it.
#pragma once

#include "cli/words/interrupt.hpp"
#include "planner/requests/run_arguments.hpp"

namespace sluice::cli {

/// Predicts, rehearses, prints; the exit code. Throws BadRequest for flags that ask for what a
/// rehearsal does not do, Error(not_converged) where values did not stay finite and normal.
int rehearse(planner::RunArguments request, InterruptFlag& interrupt);

}  // namespace sluice::cli
