// What the operating system says this process holds.
#pragma once

#include "sim/units.hpp"

namespace sluice::engine {

struct ProcessMemory {
  Bytes resident{0};  ///< Anonymous and shared memory. Not files that are mapped, which the system
                      ///< drops when it needs to: the program, libraries, data.
  Bytes locked{0};    ///< VmLck
};

/// Reads /proc/self/status. Throws EnvironmentError where it is missing.
[[nodiscard]] ProcessMemory process_memory();

/// Gives freed heap memory back to the system, so that what came before a run (a search, say) is
/// not counted as its memory.
void release_free_memory();

}  // namespace sluice::engine
