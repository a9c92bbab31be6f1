// What a long search is looking at, on stderr.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>

#include "sim/message_line.hpp"

namespace sluice::cli {

/// One line on a terminal, overwritten; nothing elsewhere. Gone when this goes.
class ProgressLine {
 public:
  ProgressLine() : shown_(isatty(STDERR_FILENO) != 0) {}
  ~ProgressLine() { show(""); }
  ProgressLine(const ProgressLine&) = delete;  // There is one cursor.
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
