// What a run's checkpoints cost: host memory for a snapshot, time in which training stands still,
// disk.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/predictions/predict.hpp"
#include "planner/runs/run_config.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

struct SavingPlan {
  Bytes checkpoint{0};     ///< Of one checkpoint: 12 a parameter.
  Bytes snapshot{0};       ///< Host memory; 0 where saves pause training.
  std::int64_t saves = 0;  ///< During the run; the one at its end is not among them.
  std::int64_t kept = 0;   ///< Checkpoints that lie on the disk at the end, at most.
  Bytes disk{0};     ///< Most that lie on the disk at one time: an old one goes after the new.
  Seconds write{0};  ///< From a step boundary until the disk holds it.
  Seconds stall{0};  ///< Of each save during the run: training stands still.
  [[nodiscard]] bool background() const { return snapshot > Bytes(0); }
};

/// Bytes over the profile's disk write rate. In the background training stands still for the copy
/// (each byte is read and written in host memory, or crosses the link), and for what is left of the
/// save before where saves come quicker than the disk takes them. A snapshot is made where the host
/// memory that the plan leaves holds it.
[[nodiscard]] SavingPlan plan_saving(const RunConfig& config, const Job& job,
                                     const Prediction& prediction, const ResolvedMachine& machine,
                                     std::optional<Bytes> host_available = std::nullopt);

/// The prediction's memory with the snapshot in it.
void add_snapshot(Prediction& prediction, const SavingPlan& saving);

}  // namespace sluice::planner
