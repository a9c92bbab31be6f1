// The user's store: where profiles, calibration and plans stay between commands.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "planner/costs/calibration.hpp"
#include "planner/machines/machine.hpp"
#include "planner/plans/plan_file.hpp"

namespace sluice::planner {

/// A folder of the user with profiles/HASH.json, calibration/HASH.jsonl and plans/JOB-PROFILE.json.
/// Folders are made on the first write.
class Store {
 public:
  explicit Store(std::filesystem::path root) : root_(std::move(root)) {}
  /// The user's store: $SLUICE_HOME, else $XDG_DATA_HOME/sluice, else ~/.local/share/sluice.
  [[nodiscard]] static Store of_user();

  [[nodiscard]] const std::filesystem::path& root() const { return root_; }
  /// The profile written last for this kind of device (for any kind where none is given); none
  /// where there is none.
  [[nodiscard]] std::optional<MachineProfile> newest_profile(
      std::optional<DeviceKind> device = std::nullopt) const;
  /// Writes the profile to the store and returns the path of its file.
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

}  // namespace sluice::planner
