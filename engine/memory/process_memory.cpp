#include "engine/memory/process_memory.hpp"

#include <malloc.h>

#include <fstream>
#include <sstream>
#include <string>

#include "sim/error.hpp"

namespace sluice::engine {

ProcessMemory process_memory() {
  std::ifstream status("/proc/self/status");
  if (!status)
    throw EnvironmentError("cannot read /proc/self/status, which says what memory is held");
  ProcessMemory memory;
  std::string line;
  while (std::getline(status, line)) {
    std::istringstream words(line);
    std::string name;
    std::int64_t kib = 0;
    words >> name >> kib;
    const Bytes bytes(kib * 1024);
    if (name == "RssAnon:" || name == "RssShmem:") memory.resident += bytes;
    if (name == "VmLck:") memory.locked = bytes;
  }
  return memory;
}

void release_free_memory() { malloc_trim(0); }

}  // namespace sluice::engine
