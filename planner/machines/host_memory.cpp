#include "planner/machines/host_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>

#include "planner/machines/cgroups.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {
HostMemory host_memory() {
  HostMemory memory;
  memory.available =
      Bytes(std::int64_t{sysconf(_SC_PHYS_PAGES)} * std::int64_t{sysconf(_SC_PAGESIZE)});
  std::ifstream meminfo("/proc/meminfo");
  std::string name, unit;
  for (std::int64_t kib = 0; meminfo >> name >> kib; std::getline(meminfo, unit)) {
    if (name == "MemAvailable:") memory.available = Bytes(kib * 1024);
  }
  memory.limit = Cgroups().memory_left();
  memory.available = std::min(memory.available, memory.limit.value_or(memory.available));
  return memory;
}

std::optional<Shortage> shortage(Bytes needed, const HostMemory& memory) {
  if (needed <= memory.available) return std::nullopt;
  const bool certain = memory.limit && needed > *memory.limit;
  return Shortage{"the plan needs " + format_bytes(needed) + " of host memory; " +
                      format_bytes(memory.available) +
                      (certain ? " are left by the cgroup's limit" : " are available") +
                      ": end what else holds it, or set --host to what is there",
                  certain};
}

}  // namespace sluice::planner
