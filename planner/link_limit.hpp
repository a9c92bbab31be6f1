// A machine whose copies are held below what its link does.
#pragma once

#include "planner/run_config.hpp"

namespace sluice::planner {

/// Limits copies each way to `rate` bytes/s. What a copy takes of other lanes is in proportion to
/// the bytes that pass, so interference from copies shrinks with the rate; directions lose nothing
/// to each other below what both reach at once. A rate that the link does not reach changes
/// nothing.
void limit_link(ResolvedMachine& machine, BytesPerSecond rate);

}  // namespace sluice::planner
