// Where profiles, calibration and plans stay between commands.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "planner/costs/calibration.hpp"
#include "planner/machines/machine.hpp"
#include "planner/plans/plan_file.hpp"

namespace sluice::planner {

/// A folder: profiles/HASH.json, calibration/HASH.jsonl, plans/JOB-PROFILE.json. Folders are made
/// on the first write.
class Store {
 public:
  explicit Store(std::filesystem::path root) : root_(std::move(root)) {}
  /// $SLUICE_HOME, else $XDG_DATA_HOME/sluice, else ~/.local/share/sluice.
  [[nodiscard]] static Store of_user();

  [[nodiscard]] const std::filesystem::path& root() const { return root_; }
  /// The profile written last for this device kind (any kind where none is given).
  [[nodiscard]] std::optional<MachineProfile> newest_profile(
      std::optional<DeviceKind> device = std::nullopt) const;
  /// Returns the file's path.
  std::filesystem::path save(const MachineProfile& profile) const;
  [[nodiscard]] std::filesystem::path calibration_file(const std::string& profile_hash) const;
  [[nodiscard]] Calibration calibration(const std::string& profile_hash) const;
  [[nodiscard]] std::filesystem::path plan_file(const std::string& job_hash,
                                                const std::string& profile_hash) const;
  [[nodiscard]] std::optional<PlanFile> plan(const std::string& job_hash,
                                             const std::string& profile_hash) const;
  std::filesystem::path save(const PlanFile& file) const;

 private:
  std::filesystem::path root_;
};

/// Where write_whole_file() writes before `path` has its name.
[[nodiscard]] std::filesystem::path part_file_of(std::filesystem::path path);
/// Writes `text` to `path` whole or not at all, making its folder. Throws EnvironmentError naming
/// the path and what the system said.
void write_whole_file(const std::filesystem::path& path, const std::string& text);
/// Throws EnvironmentError where write_whole_file() would have no place: said before long work.
void require_writable(const std::filesystem::path& path);
/// Throws BadRequest when there is no such file.
[[nodiscard]] std::string read_whole_file(const std::filesystem::path& path);

}  // namespace sluice::planner
