// Memory that one unit of a plan takes: the amounts that layouts, estimates and the relaxation's
// constraints add up. At which times each amount is live is decided there.
#pragma once

#include <cstdint>

#include "planner/models/job.hpp"
#include "planner/models/unit_size.hpp"
#include "planner/plans/plan.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Memory that one unit takes, in bytes, by content and place; zero for what the unit's choices do
/// not need.
struct UnitMemory {
  /// Device bytes that the unit takes throughout: of master weights, m and v where the state lives
  /// there, else of weights that stay there.
  Bytes resident{0};
  /// Device bytes of weights that are copied for each use, while they are in use.
  Bytes streamed{0};
  /// Device bytes, during the unit's update, of optimizer state that lives on the host.
  Bytes staged{0};
  /// Device bytes of the unit's gradient from the backward pass to the update, where it waits
  /// there.
  Bytes waiting_gradient{0};
  /// Device bytes of the unit's gradient from the backward pass until it has been stored to the
  /// host.
  Bytes passing_gradient{0};
  /// Device and host bytes of sums of later groups of micro-batches that wait between rounds,
  /// beside the gradient's running sum; the number of rounds decides how many there are.
  Bytes group_sums{0}, host_group_sums{0};
  /// Host bytes that the unit takes throughout: of master weights, m and v, of which some may live
  /// on the disk.
  Bytes host_state{0};
  Bytes host_gradient{0};  ///< Host bytes of the unit's gradient from its store to the update.
  /// Host bytes, during a CPU update, of the slot through which a gradient passes that until then
  /// was on the device.
  Bytes gradient_stage{0};
};

/// Memory of a unit with the choices `unit` and vectors of `size` in a plan of `rounds` rounds;
/// with several `ranks`, memory on each of them, of which `job` is the part of one (part_of_rank).
/// State and gradients on the disk count as the host's, because they pass through host memory.
[[nodiscard]] UnitMemory unit_memory(const Job& job, const UnitPlan& unit, std::int64_t rounds,
                                     const UnitSize& size, std::int64_t ranks = 1);

}  // namespace sluice::planner
