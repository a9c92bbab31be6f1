// Progress line of a long search, on stderr.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>

#include "sim/message_line.hpp"

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
    if (!shown_) return;
    std::fprintf(stderr, "\r\033[K%s", sim::message_line(text).c_str());
    std::fflush(stderr);
  }

 private:
  bool shown_;
};

}  // namespace sluice::cli
