// What this process's control groups let it have, as containers and batch systems set them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/units.hpp"

namespace sluice::planner {

/// Limits of this process's cgroup and of every one above it, versions 1 and 2, read below a root
/// folder that tests replace. The kernel enforces all of them, so that the tightest counts.
class Cgroups {
 public:
  explicit Cgroups(std::filesystem::path root = "/") : root_(std::move(root)) {}

  /// Smallest memory limit; none without a limit.
  [[nodiscard]] std::optional<Bytes> memory_limit() const;
  /// Memory that may still be taken before a limit is met: limit less use, where file pages that
  /// the kernel would give up first count as free. None without a limit.
  [[nodiscard]] std::optional<Bytes> memory_left() const;
  /// Number of CPUs that may be used at once; none without a limit.
  [[nodiscard]] std::optional<double> cpu_limit() const;

 private:
  /// Limit and use of one cgroup's memory.
  struct MemoryLimit {
    Bytes most;
    Bytes used;
  };
  /// Folders of this process's cgroup and of those above it, below the mount of a version 1
  /// controller, or of version 2 where `controller` is empty; the mount itself is the last.
  [[nodiscard]] std::vector<std::filesystem::path> folders(const std::string& controller) const;
  [[nodiscard]] std::vector<MemoryLimit> memory_limits() const;
  std::filesystem::path root_;
};

/// Number of CPUs that the scheduler and the cgroups leave to this process, at least 1.
[[nodiscard]] std::int64_t usable_cores(const Cgroups& cgroups = Cgroups());

}  // namespace sluice::planner
