// SIGINT and SIGTERM as a request to stop at the next step boundary.
#pragma once

#include <atomic>
#include <csignal>

namespace sluice::cli {

/// While it lives, the first SIGINT or SIGTERM sets the flag; a second one ends the program as
/// usual. One at a time.
class InterruptFlag {
 public:
  [[nodiscard]] InterruptFlag();
  ~InterruptFlag();
  InterruptFlag(const InterruptFlag&) = delete;  // Restores the handlers that it replaced.
  InterruptFlag& operator=(const InterruptFlag&) = delete;

  [[nodiscard]] const std::atomic<bool>& flag() const;

 private:
  struct sigaction interrupt_ {};
  struct sigaction terminate_ {};
};

}  // namespace sluice::cli
