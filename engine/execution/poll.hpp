// Waiting for what a device writes into memory: no system call announces it.
#pragma once

#include <chrono>
#include <thread>

namespace sluice::engine {

/// Makes this thread's sleeps end when asked, not up to 50 us later.
void sleep_precisely();

/// What a thread gets when its sleep is over and all cores are taken.
enum class Wakes { as_others, before_others, at_once };
/// Asks for the most that the system permits this thread (CAP_SYS_NICE, or RLIMIT_RTPRIO and
/// RLIMIT_NICE), and says what it was. For threads that sleep nearly always.
[[nodiscard]] Wakes wake_first();

/// Asks `ready` until it is true: at once for some microseconds, then between sleeps of about 20 us
/// (on threads that have called `sleep_precisely`).
template <class Ready>
void poll(const Ready& ready) {
  constexpr int kAtOnce = 64;
  for (int i = 0; i < kAtOnce; ++i) {
    if (ready()) return;
    std::this_thread::yield();
  }
  while (!ready()) std::this_thread::sleep_for(std::chrono::microseconds(20));
}

}  // namespace sluice::engine
