// Rates of collectives among the ranks of one host, from a machine's curves.
#pragma once

#include <optional>

#include "planner/costs/cost.hpp"
#include "planner/machines/machine.hpp"
#include "planner/plans/plan.hpp"

namespace sluice::planner {

/// The profile's fabric; for the host backend, whose ranks are threads that copy, an estimate from
/// its copies where the profile has none. None for GPUs that nobody measured together.
[[nodiscard]] std::optional<Fabric> fabric_of(const MachineProfile& profile);

/// fabric_of(), which must be there. Throws BadRequest that names the field where it is not.
[[nodiscard]] Fabric required_fabric(const MachineProfile& profile);

/// Rate at which each rank receives in a collective that brings it `bytes` bytes: between two
/// points of the curve interpolated in the logarithm of the size, outside it the nearest point's
/// rate.
[[nodiscard]] Bandwidth collective_rate(const Fabric& fabric, Collective operation, Bytes bytes);

/// Number of hosts inside which plans of `ranks` ranks sum gradients first on this machine; 1 where
/// that is not faster.
[[nodiscard]] std::int64_t hosts_that_sum(const MachineProfile& profile, std::int64_t ranks);

/// Number of hosts among which plans of `ranks` ranks with Gather::host hold copies of the weights
/// on this machine: all of its hosts; 1 where the ranks cannot be dealt to them evenly.
[[nodiscard]] std::int64_t hosts_that_share(const MachineProfile& profile, std::int64_t ranks);

/// Plan::hosts of plans of `ranks` ranks on this machine: by how they get weights, one of these.
[[nodiscard]] std::int64_t hosts_of_plans(const MachineProfile& profile, std::int64_t ranks,
                                          Gather gather);

/// Highest rate of the operation on its curve.
[[nodiscard]] Bandwidth fastest_rate(const Fabric& fabric, Collective operation);

/// Highest rate on all curves of the fabric.
[[nodiscard]] Bandwidth fastest_collective(const Fabric& fabric);

}  // namespace sluice::planner
