// One line of the doctor: what was examined, its state, and the command that mends it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sluice::profiler {

enum class Verdict { ok, warn, fail };
const char* to_string(Verdict verdict);

struct Finding {
  std::string subject;  ///< What was examined: "cpu", "memory", "gpu", ...
  Verdict verdict = Verdict::ok;
  std::string text;                ///< The state in one line.
  std::optional<std::string> fix;  ///< The command that mends a warning or a failure.
};

using Findings = std::vector<Finding>;

}  // namespace sluice::profiler
