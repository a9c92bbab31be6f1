// Polling for values that a device writes into memory without any system call announcing it.
#pragma once

#include <chrono>
#include <thread>

namespace sluice::engine {

/// Lets this thread's sleeps end on time instead of up to 50 us late (sets the timer slack).
void sleep_precisely();

/// When a thread that wakes from sleep runs while all cores are busy: like any other (as_others),
/// sooner, by the lowest nice value (before_others), or at once, by real-time priority (at_once).
enum class Wakes { as_others, before_others, at_once };
/// Requests the highest of the priorities in Wakes that the system permits this thread
/// (CAP_SYS_NICE, or RLIMIT_RTPRIO and RLIMIT_NICE) and returns what it got. For threads that sleep
/// nearly always.
[[nodiscard]] Wakes wake_first();

/// Waits until `ready()` returns true: asks repeatedly for some microseconds, then between sleeps
/// of about 20 us (on threads that have called `sleep_precisely`).
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
