// Signals as a request to save and stop.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice::cli {

/// While it lives, SIGINT, SIGTERM and SIGUSR1 ask the program to stop. Until `will_save` there is
/// nothing to keep, and the first one ends the program with exit code 75 and one line, and leaves
/// nothing of what `will_take_back` names; afterwards it sets the flag. A second one, of whichever
/// kind, ends the program at once with 128 and its number. A reader of stdout that goes away does
/// not end it: what cannot be written is said at the end, when all is saved. One at a time. Of
/// `sluice train` signals are handled so from before `main` on.
class InterruptFlag {
 public:
  [[nodiscard]] InterruptFlag();
  ~InterruptFlag();
  InterruptFlag(const InterruptFlag&) = delete;  // Restores the handlers that it replaced.
  InterruptFlag& operator=(const InterruptFlag&) = delete;

  /// Until `will_save` a signal removes these: files, and folders where they are empty, in this
  /// order. Once.
  void will_take_back(const std::vector<std::filesystem::path>& paths);
  /// From now on the flag is set, and whoever reads it saves.
  void will_save() const;
  [[nodiscard]] const std::atomic<bool>& flag() const;

 private:
  std::vector<std::string> names_;
  std::vector<const char*> beginnings_;  ///< Of `names_`, and a null behind them.
};

/// What is said where a signal came before there was anything to save.
inline constexpr char kNothingToSave[] =
    "sluice: interrupted before the first step: there is nothing to save\n";

}  // namespace sluice::cli
