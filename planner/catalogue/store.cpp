#include "planner/catalogue/store.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "planner/machines/profile_file.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// Number of hexadecimal digits of a hash in file names, 96 bits.
constexpr std::size_t kShortHash = 24;

std::string shortened(const std::string& hash) { return hash.substr(0, kShortHash); }

std::optional<std::filesystem::path> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

}  // namespace

Store Store::of_user() {
  if (const auto home = variable("SLUICE_HOME")) return Store(*home);
  if (const auto data = variable("XDG_DATA_HOME")) return Store(*data / "sluice");
  if (const auto home = variable("HOME")) return Store(*home / ".local/share/sluice");
  throw EnvironmentError("neither SLUICE_HOME nor HOME is set: set SLUICE_HOME to a folder");
}

std::optional<MachineProfile> Store::newest_profile(std::optional<DeviceKind> device) const {
  const std::filesystem::path folder = root_ / "profiles";
  if (!std::filesystem::is_directory(folder)) return std::nullopt;
  using Entry = std::pair<std::filesystem::file_time_type, std::filesystem::path>;
  std::vector<Entry> entries;
  for (const auto& item : std::filesystem::directory_iterator(folder)) {
    if (item.path().extension() == ".json") entries.emplace_back(item.last_write_time(), item);
  }
  std::ranges::sort(entries, std::greater<>());
  for (const auto& [time, path] : entries) {
    MachineProfile profile = read_profile(path);
    if (!device || profile.device == *device) return profile;
  }
  return std::nullopt;
}

std::filesystem::path Store::save(const MachineProfile& profile) const {
  auto path = root_ / "profiles" / (shortened(profile_hash(profile)) + ".json");
  write_profile(profile, path);
  return path;
}

std::filesystem::path Store::calibration_file(const std::string& profile_hash) const {
  return root_ / "calibration" / (shortened(profile_hash) + ".jsonl");
}

Calibration Store::calibration(const std::string& profile_hash) const {
  return load_calibration(calibration_file(profile_hash), profile_hash);
}

std::filesystem::path Store::plan_file(const std::string& job_hash,
                                       const std::string& profile_hash) const {
  return root_ / "plans" / (shortened(job_hash) + "-" + shortened(profile_hash) + ".json");
}

std::optional<PlanFile> Store::plan(const std::string& job_hash,
                                    const std::string& profile_hash) const {
  const auto path = plan_file(job_hash, profile_hash);
  if (!std::filesystem::exists(path)) return std::nullopt;
  return read_plan_file(path);
}

std::filesystem::path Store::save(const PlanFile& file) const {
  auto path = plan_file(file.job_hash, file.profile_hash);
  write_plan_file(file, path);
  return path;
}

}  // namespace sluice::planner
