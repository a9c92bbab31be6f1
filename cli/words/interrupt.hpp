// Signals as requests to save and stop.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice::cli {

/// Handles SIGINT, SIGTERM and SIGUSR1 while it lives. Before `will_save`, the first signal ends
/// the program with exit code 75 and one line, and removes what `will_take_back` names; afterwards
/// it sets the flag. A second signal of any kind ends the program at once with 128 plus its number.
/// A closed pipe on stdout does not end the program: output that could not be written is reported
/// at the end, when all is saved. Only one such object may exist. For `sluice train` these handlers
/// are in force from before `main` on.
class InterruptFlag {
 public:
  [[nodiscard]] InterruptFlag();
  ~InterruptFlag();
  InterruptFlag(const InterruptFlag&) = delete;  // Restores the handlers that it replaced.
  InterruptFlag& operator=(const InterruptFlag&) = delete;

  /// Names files, and folders that are removed if empty, which a signal before will_save() removes
  /// in this order. May be called only once.
  void will_take_back(const std::vector<std::filesystem::path>& paths);
  /// Makes signals set the flag from now on; whoever reads the flag saves and stops.
  void will_save() const;
  [[nodiscard]] const std::atomic<bool>& flag() const;

 private:
  std::vector<std::string> names_;
  /// Pointers to the letters of `names_`, ended by a null, which a signal handler may read.
  std::vector<const char*> beginnings_;
};

/// Message for a signal that comes before there is anything to save.
inline constexpr char kNothingToSave[] =
    "sluice: interrupted before the first step: there is nothing to save\n";

}  // namespace sluice::cli
