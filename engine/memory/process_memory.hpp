// Memory of this process as the operating system counts it.
#pragma once

#include "sim/units.hpp"

namespace sluice::engine {

struct ProcessMemory {
  /// Resident anonymous and shared memory. Mapped files (program, libraries, data) are left out
  /// because the system drops them when it needs room.
  Bytes resident{0};
  Bytes locked{0};  ///< Locked memory, VmLck of /proc/self/status.
};

/// Reads /proc/self/status. Throws EnvironmentError where it is missing.
[[nodiscard]] ProcessMemory process_memory();

/// Returns freed heap memory to the system, so that memory used before a run (by a search, for
/// example) is not counted as the run's.
void release_free_memory();

}  // namespace sluice::engine
