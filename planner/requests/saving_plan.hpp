// Cost of a run's checkpoints: host memory for a snapshot, time in which training stands still, and
// disk.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/predictions/predict.hpp"
#include "planner/runs/run_config.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Bytes of one checkpoint of the job: master weight, m and v of every parameter, together 12 bytes
/// for fp32 state, 8 for bf16, 6.03 for int8.
[[nodiscard]] Bytes checkpoint_bytes(const Job& job);

/// What a run's checkpoints take of memory, disk and time.
struct SavingPlan {
  Bytes checkpoint{0};  ///< Bytes of one checkpoint (checkpoint_bytes).
  /// Bytes of host memory for a copy of the state that is saved while training goes on; 0 where
  /// training stands still while a checkpoint is written.
  Bytes snapshot{0};
  std::int64_t saves = 0;  ///< Number of saves during the run, without the one at its end.
  std::int64_t kept = 0;  ///< Largest number of checkpoints that are on the disk when the run ends.
  /// Most bytes that checkpoints take on the disk at one time: an old one is removed after the new
  /// one is written.
  Bytes disk{0};
  Seconds write{0};  ///< Time from the end of a step until the disk holds the checkpoint.
  /// Time for which training stands still at each save during the run (not at the one at its end).
  Seconds stall{0};
  /// Whether checkpoints are written while training goes on.
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

/// Adds the bytes of the snapshot to the host memory of the prediction.
void add_snapshot(Prediction& prediction, const SavingPlan& saving);

}  // namespace sluice::planner
