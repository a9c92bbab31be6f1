// Progress line of a long search, on stderr.
#pragma once

#include <unistd.h>

#include <string>

#include "cli/shown/terminal_width.hpp"

namespace sluice::cli {

/// Line on stderr that is overwritten in place on a terminal, and not shown elsewhere. It is erased
/// on destruction.
class ProgressLine {
 public:
  ProgressLine() : shown_(isatty(STDERR_FILENO) != 0) {}
  ~ProgressLine() { show(""); }
  ProgressLine(const ProgressLine&) = delete;  // A terminal has one cursor.
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const std::string& text) const {
    if (shown_) show_in_place(text);
  }

 private:
  bool shown_;
};

}  // namespace sluice::cli
