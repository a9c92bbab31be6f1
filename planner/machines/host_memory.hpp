// Free host memory, as the system reports it.
#pragma once

#include <optional>
#include <string>

#include "sim/units.hpp"

namespace sluice::planner {

struct HostMemory {
  /// Host memory that the system can still give this process, within its cgroup's limit.
  Bytes available{0};
  /// What the cgroups' memory limits leave beside what is used already; none without a limit.
  std::optional<Bytes> limit;
};

/// Free host memory according to /proc/meminfo and the limits of this process's cgroups.
[[nodiscard]] HostMemory host_memory();

/// Warning, in `line`, that a run needs more host memory than is free.
struct Shortage {
  std::string line;
  /// Whether the run would surely be killed, because it needs more than the cgroup's limit leaves.
  bool certain = false;
};
[[nodiscard]] std::optional<Shortage> shortage(Bytes needed, const HostMemory& memory);

}  // namespace sluice::planner
