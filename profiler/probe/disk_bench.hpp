// Measurement of the lasting rates at which the disk under a folder reads and writes, past the page
// cache.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "planner/machines/machine.hpp"
#include "sim/units.hpp"

namespace sluice::profiler {

/// Drive to probe, and how to probe it.
struct ProbedDisk {
  std::filesystem::path folder = ".";  ///< Any folder on the drive.
  Seconds lasting{0};  ///< Time to read and write at once, to see whether rates fall; 0: none.
  /// Size of the file that the probe reads and writes; none for DiskBenchOptions::file.
  std::optional<Bytes> size;
};

struct DiskRates {
  planner::Bandwidth read, write;  ///< Rates of reading alone and of writing alone.
  planner::Bandwidth read_beside,
      write_beside;  ///< Rates of reading and of writing while both run.
  /// Number of blocks in flight in each direction with which the drive is fastest; none without
  /// io_uring.
  std::optional<planner::Fact> depth;
  /// Bytes that the folder's file system has free; none where that is not known.
  std::optional<planner::Fact> free;
  Bytes file{0};  ///< Size of the file that was read and written.
  /// How the rates changed over the lasting part, in words; none without a lasting part.
  std::optional<std::string> lasted;
  /// Why the rates may be higher than the drive's, in words; none where nothing says so.
  std::optional<std::string> caveat;

  /// Rate that reads and writes reach together while both run; none where that is over 95 % of
  /// the sum of both alone, since each then has a limit of its own.
  [[nodiscard]] std::optional<planner::Bandwidth> shared_limit() const;
  void enter(planner::MachineProfile& profile) const;
  [[nodiscard]] std::string text() const;  ///< The rates in one line of text.
};

struct DiskBenchOptions {
  ProbedDisk drive;
  /// Size of the file that the probe reads and writes; less where less than four times as much is
  /// free. ProbedDisk::size has precedence.
  Bytes file = 4_GiB;
  /// Time for each of the three rates; a third of it for each number of blocks in flight that is
  /// tried.
  Seconds budget{3};

  /// Text that announces the parts that take long; none where none does.
  [[nodiscard]] std::optional<std::string> long_work() const;
};

/// Measures a drive with a file of the options' size, which is unlinked once it is open, written
/// and read as runs do: one lane in each direction, blocks of 256 KiB through io_uring (four
/// threads where there is none), past the page cache; through it where the file system has no
/// O_DIRECT, which the caveat says. First the best number of blocks in flight, both directions at
/// once; then, with that many, writing, reading and both. Each rate is the median over slices of
/// the budget, the first left out, since drives begin faster than they go on. With a lasting part,
/// both at once come first, for so long, and if the rates fall only what they fall to counts
/// (lasting_rate). Throws EnvironmentError naming the folder and what the system said.
[[nodiscard]] DiskRates measure_disk(const DiskBenchOptions& options);

}  // namespace sluice::profiler
