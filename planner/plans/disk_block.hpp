// Sizes of transfers between host and disk.
#pragma once

#include "sim/units.hpp"

namespace sluice::planner {

/// Block size of disk transfers and checksums; every piece begins at a block's start.
inline constexpr Bytes kDiskBlock{256ll << 10};
/// Alignment of addresses and sizes of direct (unbuffered) transfers.
inline constexpr Bytes kDiskAlign{4096};

/// Name of the host buffers for disk transfers in the memory tables.
inline constexpr const char* kDiskBuffers = "disk buffers";

}  // namespace sluice::planner
