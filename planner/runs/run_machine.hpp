// From a run's words to the machine it gets.
#pragma once

#include "planner/machines/resolved_machine.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// The machine of a run, with `set machine.` values and limits applied. Throws BadRequest for an unknown machine or value.
[[nodiscard]] ResolvedMachine to_machine(const RunConfig& config);

}  // namespace sluice::planner
