#include "cli/words/interrupt.hpp"

#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "sim/error.hpp"

namespace sluice::cli {
namespace {

// A signal handler can access only static memory.
std::atomic<bool> interrupted{false};
std::atomic<bool> saves{false};
/// Paths to remove on a signal, ended by a null.
std::atomic<const char* const*> beginnings{nullptr};
static_assert(std::atomic<bool>::is_always_lock_free);
static_assert(std::atomic<const char* const*>::is_always_lock_free);

void on_signal(int number) {
  // Exit code base that shells use for a program ended by a signal.
  constexpr int kSignalled = 128;
  if (interrupted.exchange(true)) _exit(kSignalled + number);
  if (saves.load()) return;
  // No file can appear meanwhile: the kernel prefers to deliver signals to the main thread, which
  // is the one that writes them.
  if (const char* const* path = beginnings.load()) {
    for (; *path != nullptr; ++path) {
      if (unlink(*path) != 0) rmdir(*path);
    }
  }
  // Nothing more can be done if stderr is closed.
  (void)!write(STDERR_FILENO, kNothingToSave, sizeof kNothingToSave - 1);
  _exit(static_cast<int>(ExitCode::interrupted));
}

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGUSR1};
/// Handlers of the signals before `on_signal` was installed.
struct sigaction replaced[std::size(kSignals)];
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

/// Installs the handlers before `main`: initialisation of libraries, CUDA's above all, can take
/// longer than people who notice a mistake in their command wait. The C library calls this with the
/// arguments of `main`.
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
  // Stays ignored: `main` still writes output after this object's end.
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
