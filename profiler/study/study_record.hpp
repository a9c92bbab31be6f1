// What a study's runs measured, as files: they can be judged again, by another model, without the
// machine.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "profiler/traces/measured_run.hpp"

namespace sluice::profiler {

/// FOLDER/NAME.json: the plan of `bursts`, which is one, and every task's span in nanoseconds
/// (docs/schemas/measured.schema.json). `job_hash` and `profile_hash` say of what. Throws
/// EnvironmentError when the disk refuses.
void write_record(const std::filesystem::path& folder, const std::string& name,
                  const std::string& job_hash, const std::string& profile_hash,
                  const std::vector<MeasuredRun>& bursts);

[[nodiscard]] bool has_record(const std::filesystem::path& folder, const std::string& name);

/// The bursts of `name`. Throws EnvironmentError where the file is missing, BadRequest naming it
/// where it is no record, or is of another job.
[[nodiscard]] std::vector<MeasuredRun> read_record(const std::filesystem::path& folder,
                                                   const std::string& name,
                                                   const std::string& job_hash);

}  // namespace sluice::profiler
