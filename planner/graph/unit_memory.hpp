// What one unit of a plan takes of each memory: the amounts that layouts, estimates and the
// relaxation's rows all add up. When each amount is there is theirs to say.
#pragma once

#include <cstdint>

#include "planner/models/job.hpp"
#include "planner/plans/plan.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Bytes by what they hold and where; zero where the unit's choice has none of the kind.
struct UnitMemory {
  Bytes resident{0};  ///< On the device for good: master weights, m and v, or weights alone.
  Bytes streamed{0};  ///< On the device while in use: weights that come whenever they are needed.
  Bytes staged{0};    ///< On the device for its update: state that lives on the host.
  Bytes waiting_gradient{0};  ///< On the device from backward to the update.
  Bytes passing_gradient{0};  ///< On the device until it has been stored.
  Bytes host_state{0};        ///< On the host for good: master weights, m and v.
  Bytes host_gradient{0};     ///< On the host from its store to the update.
  Bytes gradient_stage{0};    ///< On the host on its way from the device to an update there.
};

/// Of a unit of `parameters` (padded) in a plan of so many rounds. State and gradients that live on
/// the disk count as the host's, where what comes of them passes through.
[[nodiscard]] UnitMemory unit_memory(const Job& job, const UnitPlan& unit, std::int64_t rounds,
                                     std::int64_t parameters);

}  // namespace sluice::planner
