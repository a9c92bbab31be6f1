// A machine whose copies do less than its link: by a limit on the rate, or on pinned memory.
#pragma once

#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// Limits copies each way to `rate` bytes/s. What a copy takes of other lanes is in proportion to
/// the bytes that pass, so interference from copies shrinks with the rate; directions lose nothing
/// to each other below what both reach at once. A rate that the link does not reach changes
/// nothing.
void limit_link(ResolvedMachine& machine, BytesPerSecond rate);

/// Copies go through a small pinned ring, of a machine that may not pin all of the host's memory: a
/// byte is read and written by the CPU before or after it crosses the link. The host backend pins
/// nothing.
void stage_copies(ResolvedMachine& machine);

}  // namespace sluice::planner
