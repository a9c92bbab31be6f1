#include "cli/words/interrupt.hpp"

#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "sim/error.hpp"

namespace sluice::cli {
namespace {

// A handler can reach nothing but static memory.
std::atomic<bool> interrupted{false};
std::atomic<bool> saves{false};
std::atomic<const char* const*> beginnings{nullptr};  ///< To remove; a null ends them.
static_assert(std::atomic<bool>::is_always_lock_free);
static_assert(std::atomic<const char* const*>::is_always_lock_free);

void on_signal(int number) {
  constexpr int kSignalled = 128;  // As shells report a program that a signal ended.
  if (interrupted.exchange(true)) _exit(kSignalled + number);
  if (saves.load()) return;
  // In the thread that would write more of them: the kernel prefers the first one.
  if (const char* const* path = beginnings.load()) {
    for (; *path != nullptr; ++path) {
      if (unlink(*path) != 0) rmdir(*path);
    }
  }
  // Nothing more can be done where stderr is closed.
  (void)!write(STDERR_FILENO, kNothingToSave, sizeof kNothingToSave - 1);
  _exit(static_cast<int>(ExitCode::interrupted));
}

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGUSR1};
struct sigaction replaced[std::size(kSignals)];  ///< What handled them, while `on_signal` does.
bool handling = false;

void handle_signals() {
  if (handling) return;
  handling = true;
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], &action, &replaced[i]);
  }
}

/// What libraries do before `main`, those of CUDA above all, takes longer than people who see a
/// mistake in what they have just entered. The C library calls this before it, as it does `main`.
void handle_from_the_start(int words, char** word, char** /*environment*/) {
  if (words > 1 && std::strcmp(word[1], "train") == 0) handle_signals();
}

[[gnu::section(".preinit_array"), gnu::used]] void (*at_start)(int, char**,
                                                               char**) = handle_from_the_start;

}  // namespace

InterruptFlag::InterruptFlag() {
  interrupted.store(false);
  saves.store(false);
  beginnings.store(nullptr);
  handle_signals();
  // For good: what is still to be written when this ends is written by `main`.
  struct sigaction ignored {};
  ignored.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignored, nullptr);
}

InterruptFlag::~InterruptFlag() {
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], &replaced[i], nullptr);
  }
  handling = false;
  beginnings.store(nullptr);
}

void InterruptFlag::will_take_back(const std::vector<std::filesystem::path>& paths) {
  names_.reserve(paths.size());
  for (const std::filesystem::path& path : paths) {
    names_.push_back(std::filesystem::absolute(path).string());
  }
  beginnings_.reserve(names_.size() + 1);
  for (const std::string& name : names_) beginnings_.push_back(name.c_str());
  beginnings_.push_back(nullptr);
  beginnings.store(beginnings_.data());
}

void InterruptFlag::will_save() const { saves.store(true); }

const std::atomic<bool>& InterruptFlag::flag() const { return interrupted; }

}  // namespace sluice::cli
