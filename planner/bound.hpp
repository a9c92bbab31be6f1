// A time that no schedule of any plan can beat on one machine for one job.
#pragma once

#include <array>
#include <cstdint>

#include "planner/cost_model.hpp"
#include "planner/job.hpp"
#include "planner/run_config.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

enum class BoundBy : std::uint8_t { compute, h2d, d2h, dram, cpu, disk, chain };
inline constexpr std::size_t kBounds = 7;
const char* to_string(BoundBy by);

/// Seconds of every pass of one step, nothing recomputed, alone on the machine.
struct PassTimes {
  Seconds embed_forward{0}, block_forward{0}, loss{0};  ///< One micro-batch, one unit.
  Seconds block_backward{0}, embed_backward{0};
  Seconds recompute_input{0}, recompute_selective{0};
  Seconds once{0};  ///< A step: gradient norms of all units, combine of a tied head.
};
[[nodiscard]] PassTimes pass_times(const Job& job, const CostModel& costs);

struct Bound {
  Seconds time{0};
  BoundBy by = BoundBy::compute;
  std::array<Seconds, kBounds> each{};
};

/// With N padded parameters, of which H / 12 can live in HBM with all their state (0 for
/// Residency::host), n = max(0, N - H / 12) the rest, e bytes of a streamed weight, g of a
/// gradient, each at the fastest rate that profile or calibration has:
///   compute  all passes of all micro-batches, no recomputation
///   h2d      e n (after every update) + max(0, e n_blocks - H) (backward: not everything stayed)
///   d2h      g n
///   dram     the same bytes and n updates, by the profile's coefficients
///   cpu      n updates; and on the host backend all core-seconds over the cores
///   chain    with clipping, nothing of step N + 1 starts before the norm of step N: the largest of
///            embedding updated, copied, then compute; all n updated, then loss and backward; all n
///            copied, then loss and backward
/// In the steady state; the disk tier is not used. `by` is the largest; where chain is within 2 %
/// of another, the other.
[[nodiscard]] Bound bound_of(const Job& job, const ProfileCostModel& costs,
                             const ResolvedMachine& machine, Residency residency);

}  // namespace sluice::planner
