// Recordings: measurements of a study's runs as files, by which later cost models can be judged
// without the machine.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "profiler/traces/measured_run.hpp"

namespace sluice::profiler {

/// Writes FOLDER/NAME.json: the plan that all `bursts` of a run share, every task's span in
/// nanoseconds (docs/schemas/measured.schema.json), and the hashes of job and profile. Throws
/// EnvironmentError when the disk refuses.
void write_recording(const std::filesystem::path& folder, const std::string& name,
                     const std::string& job_hash, const std::string& profile_hash,
                     const std::vector<MeasuredRun>& bursts);

[[nodiscard]] bool has_recording(const std::filesystem::path& folder, const std::string& name);

/// Reads the bursts in FOLDER/NAME.json. Throws EnvironmentError where the file is missing,
/// BadRequest naming it where it is not a recording, or of another job than `job_hash` says.
[[nodiscard]] std::vector<MeasuredRun> read_recording(const std::filesystem::path& folder,
                                                      const std::string& name,
                                                      const std::string& job_hash);

}  // namespace sluice::profiler
