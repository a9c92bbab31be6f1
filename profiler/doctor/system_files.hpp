// Facts about a machine from /proc and /sys, read below a root folder that tests replace.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/units.hpp"

namespace sluice::profiler {

class SystemFiles {
 public:
  explicit SystemFiles(std::filesystem::path root = "/") : root_(std::move(root)) {}

  /// Text of the file `path` below the root; none where it cannot be read.
  [[nodiscard]] std::optional<std::string> text(const std::string& path) const;
  /// Names of the entries of `folder` below the root that start with `prefix`.
  [[nodiscard]] std::vector<std::string> entries(const std::string& folder,
                                                 const std::string& prefix) const;

  [[nodiscard]] std::optional<std::string> cpu_model() const;
  [[nodiscard]] std::vector<std::string> cpu_flags() const;
  /// Bytes that a field of /proc/meminfo states, such as "MemTotal" or "MemAvailable"; none where
  /// it is absent.
  [[nodiscard]] std::optional<Bytes> memory_field(const std::string& name) const;
  /// Smallest memory limit of this process's cgroups; none without a limit.
  [[nodiscard]] std::optional<Bytes> cgroup_memory_limit() const;
  /// Number of CPUs that this process's cgroups may use at once; none without a limit.
  [[nodiscard]] std::optional<double> cgroup_cpu_limit() const;
  [[nodiscard]] std::size_t numa_nodes() const;
  [[nodiscard]] bool is_wsl() const;

  /// NUMA node of the PCI device at `bus` ("0000:1b:00.0"); none where the firmware does not say.
  [[nodiscard]] std::optional<int> numa_node_of(const std::string& bus) const;
  /// How the IOMMU treats the PCI device at `bus`: "identity" where its addresses are not
  /// translated, "DMA" or "DMA-FQ" where they are; none where the device has no IOMMU.
  [[nodiscard]] std::optional<std::string> iommu_type_of(const std::string& bus) const;
  /// PCI bridges above the device at `bus` that send all traffic between devices up to the
  /// processor (access control services redirect requests), so far as their configuration may be
  /// read, which the superuser alone may.
  [[nodiscard]] std::vector<std::string> redirecting_bridges(const std::string& bus) const;

  struct MemoryModules {
    std::int64_t populated = 0;
    /// Slowest configured speed of the modules in MT/s; zero if not stated.
    std::int64_t megatransfers = 0;
  };
  /// Populated memory modules by the firmware's SMBIOS table (type 17); none where that cannot be
  /// read.
  [[nodiscard]] std::optional<MemoryModules> memory_modules() const;

 private:
  std::filesystem::path root_;
};

/// Number of logical CPUs that the scheduler lets this process use.
[[nodiscard]] int usable_cpus();

}  // namespace sluice::profiler
