// How fast the disk under a folder reads and writes for long, past the page cache.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "planner/machine.hpp"
#include "sim/units.hpp"

namespace sluice::profiler {

struct DiskRates {
  planner::Fact read, write;                ///< Bytes/s, each alone.
  planner::Fact read_beside, write_beside;  ///< Bytes/s, both at once.
  std::optional<std::string> caveat;        ///< Why the numbers may flatter.

  /// What both move together, where that is less than they move apart.
  [[nodiscard]] std::optional<planner::Fact> shared_limit() const;
};

struct DiskBenchOptions {
  std::filesystem::path folder = ".";
  Bytes file = 4_GiB;  ///< Less where less than four times as much is free.
  Seconds budget{3};   ///< For each of the three parts.
};

/// A file of that size, without a name once it is open, written and read through O_DIRECT by four
/// threads in pieces of 8 MiB; through the page cache, and said so, where the file system has no
/// O_DIRECT. Each rate is the median over slices of the budget, the first left out: drives begin
/// faster than they go on. Throws EnvironmentError naming the folder and what the system said.
[[nodiscard]] DiskRates measure_disk(const DiskBenchOptions& options);

}  // namespace sluice::profiler
