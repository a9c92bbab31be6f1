// This program run once more, for an answer that takes long or all cores.
#pragma once

#include <string>
#include <vector>

namespace sluice::cli {

struct ProgramOutput {
  int code = 0;  ///< Exit code of the process; 128 + the number of a signal that ended it.
  std::string out, errors;  ///< What it wrote to stdout and to stderr.
};

/// Runs `sluice WORDS...` without a shell and waits for its end. The process ends with this one.
/// Throws EnvironmentError where it cannot be started.
[[nodiscard]] ProgramOutput run_own_program(const std::vector<std::string>& words);

}  // namespace sluice::cli
