#include "planner/machines/host_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>

#include "sim/units_text.hpp"

namespace sluice::planner {
namespace {

/// The number that a one-line file of the system holds; none where it is absent or a word.
std::optional<std::int64_t> number_in(const char* path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

}  // namespace

HostMemory host_memory() {
  HostMemory memory;
  memory.available =
      Bytes(std::int64_t{sysconf(_SC_PHYS_PAGES)} * std::int64_t{sysconf(_SC_PAGESIZE)});
  std::ifstream meminfo("/proc/meminfo");
  std::string name, unit;
  for (std::int64_t kib = 0; meminfo >> name >> kib; std::getline(meminfo, unit)) {
    if (name == "MemAvailable:") memory.available = Bytes(kib * 1024);
  }
  const auto most = number_in("/sys/fs/cgroup/memory.max");
  const auto used = number_in("/sys/fs/cgroup/memory.current");
  if (most && used) {
    memory.limit = Bytes(std::max<std::int64_t>(0, *most - *used));
    memory.available = std::min(memory.available, *memory.limit);
  }
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
