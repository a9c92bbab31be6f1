// Doctor of a machine: says in under five seconds whether it can do the work.
#pragma once

#include <filesystem>
#include <string>

#include "profiler/doctor/finding.hpp"
#include "sim/error.hpp"

namespace sluice::profiler {

struct DoctorOptions {
  std::filesystem::path runs = "runs";  ///< Folder that run folders are written to.
  std::filesystem::path store;          ///< Folder that holds profiles and plans.
};

/// Examines this machine for everything that training needs; never throws for what it finds.
[[nodiscard]] Findings examine_machine(const DoctorOptions& options);

/// Whether any finding is a failure.
[[nodiscard]] bool failed(const Findings& findings);

/// Throws EnvironmentError naming the first failure among `findings` and its fix; does nothing
/// without failures.
void require_healthy(const Findings& findings);
/// The findings that are warnings.
[[nodiscard]] Findings warnings(const Findings& findings);

/// Text with one line a finding, "ok    cpu  ...", in which each warning and failure has the
/// command that mends it.
[[nodiscard]] std::string findings_text(const Findings& findings);
/// The findings as JSON text (docs/schemas/doctor.schema.json).
[[nodiscard]] std::string findings_json(const Findings& findings);

}  // namespace sluice::profiler
