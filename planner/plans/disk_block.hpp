// Sizes and names that transfers between host and disk share.
#pragma once

#include "sim/units.hpp"

namespace sluice::planner {

/// Unit of disk transfers and checksums: every piece of a tensor (DiskPiece) begins on the disk at
/// a multiple of it.
inline constexpr Bytes kDiskBlock{256ll << 10};
/// Alignment of addresses and sizes of direct transfers, which bypass the page cache.
inline constexpr Bytes kDiskAlign{4096};

/// Name of the entry of a memory table that counts the host buffers of disk transfers.
inline constexpr const char* kDiskBuffers = "disk buffers";

}  // namespace sluice::planner
