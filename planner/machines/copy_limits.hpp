// Machines whose copies are slower than their link: limited in rate, or in pinned memory.
#pragma once

#include "planner/machines/resolved_machine.hpp"

namespace sluice::planner {

/// Limits copies in each direction to `rate` and lets the backend pace them. Interference that
/// copies cause shrinks in proportion to their rate; interference between the two directions is
/// dropped, since the limited duplex rates hold it. Does nothing where the link is not faster than
/// `rate`.
void limit_link(ResolvedMachine& machine, BytesPerSecond rate);

/// Makes copies go through a small pinned ring, for a machine that may not pin all of the host
/// memory: the CPU reads and writes each byte once more, and the rates become those of the ring.
/// Does nothing on the host backend, which pins nothing.
void stage_copies(ResolvedMachine& machine);

}  // namespace sluice::planner
