// Rates of collectives among the ranks of one host, from a machine's curves.
#pragma once

#include <optional>

#include "planner/costs/cost.hpp"
#include "planner/machines/machine.hpp"

namespace sluice::planner {

/// The profile's fabric; for the host backend, whose ranks are threads that copy, an estimate from
/// its copies where the profile has none. None for GPUs that nobody measured together.
[[nodiscard]] std::optional<Fabric> fabric_of(const MachineProfile& profile);

/// fabric_of(), which must be there. Throws BadRequest that names the field where it is not.
[[nodiscard]] Fabric required_fabric(const MachineProfile& profile);

/// Bytes/s that each rank receives in a collective that brings it `bytes` bytes: between two points
/// of the curve interpolated in the logarithm of the size, outside it the nearest point's rate.
[[nodiscard]] Fact collective_rate(const Fabric& fabric, Collective operation, Bytes bytes);

/// Highest rate on both curves of the fabric.
[[nodiscard]] Fact fastest_collective(const Fabric& fabric);

}  // namespace sluice::planner
