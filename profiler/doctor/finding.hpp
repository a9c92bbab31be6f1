// Finding of the doctor: what was examined, its state, and the command that mends it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sluice::profiler {

enum class Verdict { ok, warn, fail };
const char* to_string(Verdict verdict);

struct Finding {
  std::string subject;  ///< Name of what was examined: "cpu", "memory", "gpu", ...
  Verdict verdict = Verdict::ok;
  std::string text;  ///< State of what was examined, in one line.
  /// Command that mends a warning or a failure; none where there is none.
  std::optional<std::string> fix;
};

using Findings = std::vector<Finding>;

}  // namespace sluice::profiler
