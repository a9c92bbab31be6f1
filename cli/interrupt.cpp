#include "cli/interrupt.hpp"

#include <unistd.h>

#include <cstddef>
#include <iterator>

#include "sim/error.hpp"

namespace sluice::cli {
namespace {

// A handler can reach nothing but static memory.
std::atomic<bool> interrupted{false};
std::atomic<bool> saves{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void on_signal(int number) {
  constexpr int kSignalled = 128;  // As shells report a program that a signal ended.
  if (interrupted.exchange(true)) _exit(kSignalled + number);
  if (saves.load()) return;
  // Nothing more can be done where stderr is closed.
  (void)!write(STDERR_FILENO, kNothingToSave, sizeof kNothingToSave - 1);
  _exit(static_cast<int>(ExitCode::interrupted));
}

}  // namespace

InterruptFlag::InterruptFlag() {
  interrupted.store(false);
  saves.store(false);
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], &action, &before_[i]);
  }
  // For good: what is still to be written when this ends is written by `main`.
  struct sigaction ignored {};
  ignored.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignored, nullptr);
}

InterruptFlag::~InterruptFlag() {
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], &before_[i], nullptr);
  }
}

void InterruptFlag::will_save() const { saves.store(true); }

const std::atomic<bool>& InterruptFlag::flag() const { return interrupted; }

}  // namespace sluice::cli
