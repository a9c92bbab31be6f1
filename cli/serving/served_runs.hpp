// Run folders as the page lists and draws them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace sluice::cli {

/// The run folders of one folder. Only files that the program itself writes there are read, by
/// names that this class makes; links are not followed.
class ServedRuns {
 public:
  explicit ServedRuns(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// JSON object with `runs`: of each its `name`, `steps` that are done, `of` that are asked for
  /// (null where unknown), the last `loss`, `step_s` and `predicted_s`, `model` and `machine`, and
  /// whether it `runs` now on this computer. The one that changed last comes first.
  [[nodiscard]] std::string list() const;

  /// JSON object with `rows`, the lines of the run's metrics.jsonl with steps above `after`,
  /// thinned to a few thousand. Throws BadRequest for a name that list() does not have.
  [[nodiscard]] std::string rows(const std::string& name, std::int64_t after) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace sluice::cli
