#include "engine/python/process_work.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace sluice::engine {

ProcessWork work_of(pid_t process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  std::getline(in, line);
  const std::size_t name_end = line.rfind(')');  // A name may hold anything.
  if (name_end == std::string::npos) return {};
  std::istringstream fields(line.substr(name_end + 1));
  std::string state, skipped;
  fields >> state;
  constexpr int kBetween = 10;  // From the parent's number to the faults of children.
  for (int i = 0; i < kBetween; ++i) fields >> skipped;
  long long user = 0, system = 0;
  fields >> user >> system;
  const long long ticks = std::max<long long>(1, ::sysconf(_SC_CLK_TCK));
  return {.busy = state == "R" || state == "D",
          .computed = std::chrono::milliseconds((user + system) * 1000 / ticks)};
}

}  // namespace sluice::engine
