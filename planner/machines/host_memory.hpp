// Free host memory, as the system reports it.
#pragma once

#include <optional>
#include <string>

#include "sim/units.hpp"

namespace sluice::planner {

struct HostMemory {
  Bytes available{0};  ///< Memory that the system and the cgroup could still give.
  /// The cgroup's limit less what the cgroup holds already; none without a limit.
  std::optional<Bytes> limit;
};

/// Free host memory according to /proc/meminfo and the cgroup's memory.max.
[[nodiscard]] HostMemory host_memory();

/// A warning before a run that needs more host memory than is free.
struct Shortage {
  std::string line;
  bool certain = false;  ///< The run would be killed: it needs more than the cgroup's limit.
};
[[nodiscard]] std::optional<Shortage> shortage(Bytes needed, const HostMemory& memory);

}  // namespace sluice::planner
