// Order in which optimizer state that lives on the host comes to the device for its update there,
// and what waits for it to leave.
#pragma once

#include <optional>
#include <vector>

#include "planner/models/unit_size.hpp"
#include "planner/plans/plan.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// The load of one unit's optimizer state to the device.
struct StagedLoad {
  std::size_t unit;
  /// Block whose records share device memory with this unit's staged state: the load waits until
  /// the block's backward pass is over in the last round, and the block's next record waits until
  /// the state is stored back. None where the staged state has memory of its own.
  std::optional<std::size_t> takes_record_of;
};

/// Bytes of device memory that the optimizer state of `unit` takes while it is there for its
/// update: those of the master weights, m and v that are not on the device all the time.
/// `size` is that of the unit, or of a rank's slice of it.
[[nodiscard]] Bytes staged_bytes(const UnitPlan& unit, const Job& job, const UnitSize& size);

/// Bytes of a slot of the device's state ring that the state of `unit` takes while it is there,
/// with its gradient where that comes too (rotates_gradient).
[[nodiscard]] Bytes rotating_bytes(const UnitPlan& unit, const Job& job, const UnitSize& size);

/// Loads of all units whose state is staged and does not rotate (rotates_state), in the order of
/// loading. The last `plan.state_buffers` of these units, and those for which records leave too
/// little memory, have memory of their own and come first, in the order in which they are stored.
/// The others come as the backward pass frees records, last unit first: what is loaded first is
/// stored last, when the forward pass needs its bytes last.
[[nodiscard]] std::vector<StagedLoad> staged_loads(const Job& job, const Plan& plan);

}  // namespace sluice::planner
