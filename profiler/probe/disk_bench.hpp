// How fast the disk under a folder reads and writes for long, past the page cache.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "planner/machines/machine.hpp"
#include "sim/units.hpp"

namespace sluice::profiler {

/// What of a drive is probed.
struct ProbedDisk {
  std::filesystem::path folder = ".";  ///< On it.
  Seconds lasting{0};                  ///< How long to read and write at once; 0: as the rest.
  std::optional<Bytes> size;           ///< Of the file; without it DiskBenchOptions::file.
};

struct DiskRates {
  planner::Fact read, write;                ///< Bytes/s, each alone.
  planner::Fact read_beside, write_beside;  ///< Bytes/s, both at once.
  std::optional<planner::Fact> depth;       ///< Blocks in flight each way; none without io_uring.
  std::optional<planner::Fact> free;        ///< Bytes that the folder could still take.
  Bytes file{0};                            ///< That was read and written.
  std::optional<std::string> lasted;        ///< What became of both at once in the lasting part.
  std::optional<std::string> caveat;        ///< Why the numbers may flatter.

  /// What both move together, where that is less than they move apart.
  [[nodiscard]] std::optional<planner::Fact> shared_limit() const;
  void enter(planner::MachineProfile& profile) const;
  [[nodiscard]] std::string text() const;  ///< One line.
};

struct DiskBenchOptions {
  ProbedDisk drive;
  Bytes file = 4_GiB;  ///< Less where less than four times as much is free; see ProbedDisk::size.
  Seconds budget{3};   ///< For each of the three rates; a third of it for each depth.

  /// What of it takes long, to be said before; none where nothing does.
  [[nodiscard]] std::optional<std::string> long_work() const;
};

/// A file of that size, without a name once it is open, written and read as runs write and read
/// theirs: one lane each way, blocks of 256 KiB through io_uring (four threads where there is none)
/// past the page cache; through it, and said so, where the file system has no O_DIRECT. First how
/// many blocks in flight do, both ways at once; with as many then writing, reading and both. Each
/// rate is the median over slices of the budget, the first left out: drives begin faster than they
/// go on. With a lasting part both at once come before the two alone, for so long, and if they fall
/// only what they fall to counts (lasting_rate). Throws EnvironmentError naming the folder and what
/// the system said.
[[nodiscard]] DiskRates measure_disk(const DiskBenchOptions& options);

}  // namespace sluice::profiler
