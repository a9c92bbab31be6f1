// Memory that one unit of a plan takes: the amounts that layouts, estimates and the relaxation's
// rows add up. At which times each amount is live is decided by them.
#pragma once

#include <cstdint>

#include "planner/models/job.hpp"
#include "planner/plans/plan.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Bytes of one unit by content and place; zero for a kind that the unit's choice does not have.
struct UnitMemory {
  Bytes resident{0};  ///< On the device throughout: master weights, m and v, or weights alone.
  Bytes streamed{0};  ///< On the device while in use: weights copied for each use.
  Bytes staged{0};    ///< On the device for its update: state that lives on the host.
  Bytes waiting_gradient{0};  ///< On the device from backward to the update.
  Bytes passing_gradient{0};  ///< On the device until it has been stored.
  Bytes host_state{0};        ///< On the host throughout: master weights, m and v.
  Bytes host_gradient{0};     ///< On the host from its store to the update.
  Bytes gradient_stage{0};    ///< On the host, as the slot of a gradient for a CPU update.
};

/// Memory of a unit of `parameters` (padded) in a plan of `rounds` rounds. State and gradients on
/// the disk count as the host's, because they pass through host memory.
[[nodiscard]] UnitMemory unit_memory(const Job& job, const UnitPlan& unit, std::int64_t rounds,
                                     std::int64_t parameters);

}  // namespace sluice::planner
