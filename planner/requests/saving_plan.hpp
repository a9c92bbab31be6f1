// Cost of a run's checkpoints: host memory for a snapshot, time in which training stands still, and
// disk.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/predictions/predict.hpp"
#include "planner/runs/run_config.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Bytes of one checkpoint: master weights, m and v of every parameter, 12 bytes each in fp32.
[[nodiscard]] Bytes checkpoint_bytes(const Job& job);

struct SavingPlan {
  Bytes checkpoint{0};  ///< Bytes of one checkpoint, 12 a parameter.
  /// Bytes of host memory that a snapshot of the state takes; 0 where saves pause training instead.
  Bytes snapshot{0};
  std::int64_t saves = 0;  ///< Number of saves during the run, without the one at its end.
  std::int64_t kept = 0;   ///< Largest number of checkpoints on the disk at the end.
  /// Most bytes that checkpoints take on the disk at one time: an old one is removed after the new
  /// one is written.
  Bytes disk{0};
  Seconds write{0};  ///< Time from the end of a step until the disk holds the checkpoint.
  /// Time for which training stands still at each save during the run (not at the one at its end).
  Seconds stall{0};
  [[nodiscard]] bool background() const { return snapshot > Bytes(0); }
};

/// The cost of a run's checkpoints; writing one takes its bytes over the profile's disk write rate.
/// With saves in the background training stands still for the copy (each byte is read and written
/// in host memory, or crosses the link), and for what is left of the save before, where saves come
/// faster than the disk takes them. A snapshot is made where the host memory that the plan leaves
/// holds it; `host_available`, where given, is the host memory that is free on this computer.
[[nodiscard]] SavingPlan plan_saving(const RunConfig& config, const Job& job,
                                     const Prediction& prediction, const ResolvedMachine& machine,
                                     std::optional<Bytes> host_available = std::nullopt);

/// Adds the snapshot's bytes to the prediction's host memory.
void add_snapshot(Prediction& prediction, const SavingPlan& saving);

}  // namespace sluice::planner
