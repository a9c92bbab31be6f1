// Tasks of the fabric's lane as calls of a fabric.
#pragma once

#include "engine/execution/device.hpp"
#include "engine/ranks/fabric.hpp"

namespace sluice::engine {

/// Runs a task of the fabric's lane: gathers every range that it accesses, or exchanges the
/// gradient that it reads. Throws RankFailure.
void run_collective(const BoundTask& task, Fabric& fabric);

}  // namespace sluice::engine
