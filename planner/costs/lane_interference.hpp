// Interference: how much a machine's lanes slow each other, by number of threads of the CPU
// optimizer.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/costs/calibration.hpp"
#include "planner/costs/cost.hpp"
#include "planner/machines/machine.hpp"

namespace sluice::planner {

/// Calibration's key for the interference factor of lane `from` on lane `on`; a sample's value is
/// the factor. `threads` is the CPU optimizer's number of threads for a pair that the profile
/// states by threads, else 0.
[[nodiscard]] CostKey interference_key(LaneKind on, LaneKind from, std::int64_t threads = 0);

/// The lane that slows others by as much as `key`, an interference factor or a launch delay, says;
/// none for keys of other kinds, and for a lane that does not exist.
[[nodiscard]] std::optional<LaneKind> slowing_lane(const CostKey& key);

/// Whether the profile states the pair's factor separately for several thread counts of the CPU
/// optimizer.
[[nodiscard]] bool stated_by_threads(const MachineProfile& profile, LaneKind on, LaneKind from);

/// Interference of every pair in the profile, and of copies in opposite directions where the
/// profile has duplex rates and no such pair. A calibrated factor replaces the profile's. Between
/// stated thread counts factors are linear in the count's logarithm, beyond them constant. For
/// `threads` 0, the largest (mildest) factor of each pair.
[[nodiscard]] std::vector<CostModel::LaneInterference> lane_interference(
    const MachineProfile& profile, const Calibration& calibration, std::int64_t threads);

}  // namespace sluice::planner
