// Passes that a machine's probe timed, as calibration that stands until runs measure the same.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "planner/costs/calibration.hpp"
#include "planner/machines/machine.hpp"
#include "planner/models/job.hpp"

namespace sluice::planner {

/// The `source` of samples that a probe measured (MachineProfile::passes).
inline constexpr const char* kProbeSource = "probe";

/// Relative standard deviation between a probe's times and those of runs at another time, common to
/// all passes of one probe: what clocks and temperature differ by from minute to minute.
inline constexpr double kProbeDeviation = 0.015;

/// The profile's passes as samples of one measurement each, whose deviation is that of the
/// measured time and kProbeDeviation together.
[[nodiscard]] Calibration probed_passes(const MachineProfile& profile);

/// A pass that a probe measured, with the job of one block that it ran for this; `unit` is the
/// index of the pass's unit in that job's model.
struct ProbedPass {
  Job job;
  Pass pass;
  std::size_t unit;
};
/// The pass that `key` names. None where the key is not a pass's, or its job is not one that probes
/// run: dense blocks in bf16 with fp32 gradients and state.
[[nodiscard]] std::optional<ProbedPass> probed_pass(const CostKey& key);

}  // namespace sluice::planner
