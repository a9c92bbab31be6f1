// The machine that a run uses: a profile with the run's changes and limits applied.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "planner/machines/machine.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Limits that a run sets to what it uses of the machine; none where it sets no limit.
struct Limits {
  std::optional<Bytes> hbm, host, disk;
  /// Host memory that the process may pin; none for all of it.
  std::optional<Bytes> pinned;
  /// Rate to which copies in each direction are held, as over the link of a smaller machine.
  std::optional<BytesPerSecond> link;
  friend bool operator==(const Limits&, const Limits&) = default;
};

/// The machine of a run, with `--set machine.` values and limits applied.
struct ResolvedMachine {
  /// The profile with the run's values. Its hash is `profile_hash` in outputs.
  MachineProfile profile;
  /// Hash of the profile before the run's values; calibration samples are keyed by it.
  std::string calibration_hash;
  /// Capacity of each tier: the run's limit where it sets one, else the profile's.
  Bytes hbm, host, disk;
  /// Whether copies go through a small pinned ring, because less host memory can be pinned than may
  /// be used. The profile's link rates are then those of the ring.
  bool staged = false;
  /// Rate at which a backend paces its copies: the run's link limit where that is below the link's
  /// own rate; else none.
  std::optional<BytesPerSecond> paced{};
  /// Whether the run states a disk limit, so that the planner may keep optimizer state on the disk
  /// where host memory is short.
  bool state_on_disk = false;
  /// Folder for the state on disk; none for the folder that has the run's other files.
  std::optional<std::filesystem::path> disk_path{};
  /// What the profile and the run's values rest on, before any run taught the model.
  Knowledge knowledge = Knowledge::catalogue;
};

}  // namespace sluice::planner
