#include "planner/machines/cgroups.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

namespace sluice::planner {
namespace {

/// The number that a file begins with; none where it is absent, or holds "max".
std::optional<double> number_in(const std::filesystem::path& file) {
  std::ifstream in(file);
  double number = 0;
  if (!(in >> number)) return std::nullopt;
  return number;
}

/// The number behind `name` in a file of lines "name number", such as memory.stat; 0 where it is
/// absent.
double field_in(const std::filesystem::path& file, const std::string& name) {
  std::ifstream in(file);
  std::string field;
  for (double number = 0; in >> field >> number;) {
    if (field == name) return number;
  }
  return 0;
}

Bytes bytes_of(double count) { return Bytes(static_cast<std::int64_t>(std::max(0.0, count))); }

/// The quotient of a quota and its period, each of which may be absent or -1 for "no limit".
std::optional<double> quotient(std::optional<double> quota, std::optional<double> period) {
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return *quota / *period;
}

}  // namespace

std::vector<std::filesystem::path> Cgroups::folders(const std::string& controller) const {
  // Lines "id:controllers:path"; version 2 has the one line "0::path".
  std::ifstream lines(root_ / "proc/self/cgroup");
  std::string own = "/";
  for (std::string line; std::getline(lines, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool named = controller.empty()
                           ? controllers == ",,"
                           : controllers.find("," + controller + ",") != std::string::npos;
    if (named) own = line.substr(second + 1);
  }
  // In a container the mount may show its own cgroup alone, under which no folder `own` is.
  const std::filesystem::path mount = root_ / "sys/fs/cgroup" / controller;
  std::vector<std::filesystem::path> found;
  for (std::filesystem::path at = std::filesystem::path(own).relative_path(); !at.empty();
       at = at.parent_path()) {
    found.push_back(mount / at);
  }
  found.push_back(mount);
  return found;
}

std::vector<Cgroups::MemoryLimit> Cgroups::memory_limits() const {
  std::vector<MemoryLimit> limits;
  const auto take = [&](const std::filesystem::path& most, const std::filesystem::path& used,
                        const std::filesystem::path& folder, const char* reclaimable) {
    const auto limit = number_in(folder / most);
    // Version 1 writes "no limit" as a page-rounded 2^63.
    constexpr double kNoLimit = 4e18;
    if (!limit || *limit <= 0 || *limit > kNoLimit) return;
    const double taken = number_in(folder / used).value_or(0);
    const double free = field_in(folder / "memory.stat", reclaimable);
    limits.push_back({.most = bytes_of(*limit), .used = bytes_of(taken - free)});
  };
  for (const auto& folder : folders("")) {
    take("memory.max", "memory.current", folder, "inactive_file");
  }
  for (const auto& folder : folders("memory")) {
    take("memory.limit_in_bytes", "memory.usage_in_bytes", folder, "total_inactive_file");
  }
  return limits;
}

std::optional<Bytes> Cgroups::memory_limit() const {
  std::optional<Bytes> least;
  for (const MemoryLimit& limit : memory_limits()) {
    least = std::min(least.value_or(limit.most), limit.most);
  }
  return least;
}

std::optional<Bytes> Cgroups::memory_left() const {
  std::optional<Bytes> least;
  for (const MemoryLimit& limit : memory_limits()) {
    const Bytes left = std::max(Bytes(0), limit.most - limit.used);
    least = std::min(least.value_or(left), left);
  }
  return least;
}

std::optional<double> Cgroups::cpu_limit() const {
  std::optional<double> least;
  const auto take = [&](std::optional<double> cpus) {
    if (cpus) least = std::min(least.value_or(*cpus), *cpus);
  };
  for (const auto& folder : folders("")) {
    std::ifstream in(folder / "cpu.max");  // "max 100000" or "200000 100000".
    double quota = 0, period = 0;
    if (in >> quota >> period) take(quotient(quota, period));
  }
  for (const auto& folder : folders("cpu")) {
    take(quotient(number_in(folder / "cpu.cfs_quota_us"), number_in(folder / "cpu.cfs_period_us")));
  }
  return least;
}

std::int64_t usable_cores(const Cgroups& cgroups) {
  cpu_set_t set;
  CPU_ZERO(&set);
  const std::int64_t scheduled =
      sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
  const auto limit = cgroups.cpu_limit();
  if (!limit) return scheduled;
  return std::clamp<std::int64_t>(std::llround(*limit), 1, scheduled);
}

}  // namespace sluice::planner
