// The machine that a run gets: a profile with overrides, held to the run's limits.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "planner/machines/machine.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Bytes a run may use; none leaves what the machine has.
struct Limits {
  std::optional<Bytes> hbm, host, disk;
  /// Host memory that the system lets be pinned; none: all of it.
  std::optional<Bytes> pinned;
  /// Copies each way are held to this rate: the link of a smaller machine on a larger one.
  std::optional<BytesPerSecond> link;
  friend bool operator==(const Limits&, const Limits&) = default;
};

/// The machine of a run, with `set machine.` values and limits applied.
struct ResolvedMachine {
  MachineProfile profile;        ///< With the overrides; its hash is the profile_hash of outputs.
  std::string calibration_hash;  ///< Hash before overrides: what calibration samples are keyed by.
  Bytes hbm, host, disk;         ///< Capacities: limits, else the profile's.
  /// Less host memory can be pinned than may be used: copies go through a pinned ring, and the
  /// profile's link rates are those of the ring.
  bool staged = false;
  /// limits.link where it is below the machine's own rates: a backend paces its copies.
  std::optional<BytesPerSecond> paced{};
  /// limits.disk is stated: the planner may keep state on the disk where host memory is short.
  bool state_on_disk = false;
  /// Folder for it; none: where the run keeps its other files.
  std::optional<std::filesystem::path> disk_path{};
};

}  // namespace sluice::planner
