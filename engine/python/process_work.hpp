// How much a process has computed, and whether it goes on.
#pragma once

#include <sys/types.h>

#include <chrono>

namespace sluice::engine {

/// State of a process as the system has it.
struct ProcessWork {
  bool busy = false;  ///< Whether it runs, waits for a processor, or waits for a disk.
  std::chrono::milliseconds computed{0};  ///< Processor time of all its threads so far.
};

/// The state of a process; idle if there is none, or the system does not say.
[[nodiscard]] ProcessWork work_of(pid_t process);

}  // namespace sluice::engine
