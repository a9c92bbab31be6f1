// The doctor: whether this machine can do the work, in under five seconds.
#pragma once

#include <filesystem>
#include <string>

#include "profiler/doctor/finding.hpp"
#include "sim/error.hpp"

namespace sluice::profiler {

struct DoctorOptions {
  std::filesystem::path runs = "runs";  ///< Folder where runs are written.
  std::filesystem::path store;          ///< Folder where profiles and plans are kept.
};

/// Examines this machine; never throws for what it finds.
[[nodiscard]] Findings examine_machine(const DoctorOptions& options);

/// Whether any finding is a failure.
[[nodiscard]] bool failed(const Findings& findings);

/// Throws EnvironmentError naming the first failure and its fix; does nothing without failures.
void require_healthy(const Findings& findings);
/// The findings that are warnings.
[[nodiscard]] Findings warnings(const Findings& findings);

/// One line a finding, "ok    cpu  ...", each warning and failure with its command.
[[nodiscard]] std::string findings_text(const Findings& findings);
/// The findings as JSON (docs/schemas/doctor.schema.json).
[[nodiscard]] std::string findings_json(const Findings& findings);

}  // namespace sluice::profiler
