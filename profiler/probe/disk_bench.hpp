// Lasting rates at which the disk under a folder reads and writes, past the page cache.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "planner/machines/machine.hpp"
#include "sim/units.hpp"

namespace sluice::profiler {

/// The drive to probe, and how.
struct ProbedDisk {
  std::filesystem::path folder = ".";  ///< A folder on the drive.
  Seconds lasting{0};         ///< Time for which to read and write at once; 0 for the usual time.
  std::optional<Bytes> size;  ///< Size of the file; none for DiskBenchOptions::file.
};

struct DiskRates {
  planner::Fact read, write;                ///< Bytes/s of reading alone and of writing alone.
  planner::Fact read_beside, write_beside;  ///< Bytes/s of reading and writing at once.
  /// Fastest number of blocks in flight in each direction; none without io_uring.
  std::optional<planner::Fact> depth;
  std::optional<planner::Fact> free;  ///< Bytes that the folder could still take.
  Bytes file{0};                      ///< Size of the file that was read and written.
  /// How the rates changed over the lasting part; none without one.
  std::optional<std::string> lasted;
  std::optional<std::string> caveat;  ///< Why the numbers may be too high.

  /// Bytes/s that reading and writing reach together, where that is less than the sum of both
  /// alone.
  [[nodiscard]] std::optional<planner::Fact> shared_limit() const;
  void enter(planner::MachineProfile& profile) const;
  [[nodiscard]] std::string text() const;  ///< The rates in one line.
};

struct DiskBenchOptions {
  ProbedDisk drive;
  /// Size of the file; less where less than four times as much is free. See ProbedDisk::size.
  Bytes file = 4_GiB;
  Seconds budget{3};  ///< Time for each of the three rates; a third of it for each depth.

  /// The parts that take long, to be announced before; none where nothing does.
  [[nodiscard]] std::optional<std::string> long_work() const;
};

/// Measures a drive with a file of that size, unlinked once it is open, written and read as runs
/// do: one lane in each direction, blocks of 256 KiB through io_uring (four threads where there is
/// none), past the page cache; through it where the file system has no O_DIRECT, which the caveat
/// says. First the best number of blocks in flight, both directions at once; then, with that many,
/// writing, reading and both. Each rate is the median over slices of the budget, the first left
/// out, since drives begin faster than they go on. With a lasting part, both at once come first,
/// for so long, and if the rates fall only what they fall to counts (lasting_rate). Throws
/// EnvironmentError naming the folder and what the system said.
[[nodiscard]] DiskRates measure_disk(const DiskBenchOptions& options);

}  // namespace sluice::profiler
