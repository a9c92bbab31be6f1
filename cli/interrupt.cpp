#include "cli/interrupt.hpp"

namespace sluice::cli {
namespace {

std::atomic<bool> interrupted{false};  // A handler can reach nothing but static memory.
static_assert(std::atomic<bool>::is_always_lock_free);

void on_signal(int) { interrupted.store(true); }

}  // namespace

InterruptFlag::InterruptFlag() {
  interrupted.store(false);
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &interrupt_);
  sigaction(SIGTERM, &action, &terminate_);
}

InterruptFlag::~InterruptFlag() {
  sigaction(SIGINT, &interrupt_, nullptr);
  sigaction(SIGTERM, &terminate_, nullptr);
}

const std::atomic<bool>& InterruptFlag::flag() const { return interrupted; }

}  // namespace sluice::cli
