// When state that lives on the host comes to the device for its update there, and what waits for it
// to leave.
#pragma once

#include <optional>
#include <vector>

#include "planner/plans/plan.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// One unit's state on its way to the device.
struct StagedLoad {
  std::size_t unit;
  /// The load waits until backward of this block is over in the last round, and the block's next
  /// record waits until the state is stored back, so that both may lie in the same bytes. None
  /// where the staged state has memory of its own.
  std::optional<std::size_t> takes_record_of;
};

/// Bytes of device memory that a unit takes while its state is staged; `parameters` padded.
[[nodiscard]] Bytes staged_bytes(const UnitPlan& unit, const Job& job, std::int64_t parameters);

/// Every staged unit in the order of loading. The last `state_buffers` of them in unit order, and
/// those for which records leave too little, have memory of their own and come first, in the order
/// in which they are stored. The others come as backward frees records, last unit first: what is
/// loaded first is stored last, when the forward pass needs its bytes last.
[[nodiscard]] std::vector<StagedLoad> staged_loads(const Job& job, const Plan& plan);

}  // namespace sluice::planner
