// Host memory as the system states it.
#pragma once

#include <optional>
#include <string>

#include "sim/units.hpp"

namespace sluice::planner {

struct HostMemory {
  Bytes available{0};          ///< That the system and the cgroup could still give.
  std::optional<Bytes> limit;  ///< The cgroup's, less what it holds already.
};

/// Reads /proc/meminfo and the cgroup.
[[nodiscard]] HostMemory host_memory();

/// What to say before a run that takes `needed`: nothing where it is there.
struct Shortage {
  std::string line;
  bool certain = false;  ///< The run would be killed: beyond the cgroup's limit.
};
[[nodiscard]] std::optional<Shortage> shortage(Bytes needed, const HostMemory& memory);

}  // namespace sluice::planner
