// The machine that a run uses: a profile with the run's overrides and limits applied.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "planner/machines/machine.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Capacities that a run may use; none where the run sets no limit.
struct Limits {
  std::optional<Bytes> hbm, host, disk;
  /// Host memory that the system lets a process pin; none for all of it.
  std::optional<Bytes> pinned;
  /// Rate that copies in each direction are held to, as over the link of a smaller machine.
  std::optional<BytesPerSecond> link;
  friend bool operator==(const Limits&, const Limits&) = default;
};

/// The machine of a run, with `--set machine.` values and limits applied.
struct ResolvedMachine {
  MachineProfile profile;  ///< The profile after overrides. Its hash is `profile_hash` in outputs.
  /// The profile's hash before overrides, which keys calibration samples.
  std::string calibration_hash;
  Bytes hbm, host, disk;  ///< Capacities: the run's limits, else the profile's.
  /// Less host memory can be pinned than may be used, so copies go through a pinned ring and the
  /// profile's link rates are those of the ring.
  bool staged = false;
  /// `limits.link` where it is below the link's own rate; a backend then paces its copies.
  std::optional<BytesPerSecond> paced{};
  /// The run states a disk limit, so the planner may keep optimizer state on the disk where host
  /// memory is short.
  bool state_on_disk = false;
  /// Folder for the state on disk; none for the folder of the run's other files.
  std::optional<std::filesystem::path> disk_path{};
};

}  // namespace sluice::planner
