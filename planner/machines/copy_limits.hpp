// Changes to machine profiles whose copies are slower than their link, because of a limit on the
// rate or on pinned memory.
#pragma once

#include "planner/machines/resolved_machine.hpp"

namespace sluice::planner {

/// Limits the machine's copies in each direction to `rate`, at which the backend then paces them.
/// Interference that copies cause shrinks in proportion to their rate; interference between the two
/// directions is dropped, since the profile's limited rates of copies in both directions at once
/// already contain it. Does nothing where the link is not faster than `rate`.
void limit_link(ResolvedMachine& machine, BytesPerSecond limit);

/// Makes the machine's copies go through a small pinned ring, for a machine that may not pin all of
/// its host memory: the CPU reads and writes each byte once more, and the link's rates become those
/// of the ring. Does nothing on the host backend, which pins nothing.
void stage_copies(ResolvedMachine& machine);

}  // namespace sluice::planner
