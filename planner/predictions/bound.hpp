// The bound: a time that no schedule of any plan can beat on one machine for one job.
#pragma once

#include <array>
#include <cstdint>

#include "planner/costs/cost_model.hpp"
#include "planner/models/job.hpp"
#include "planner/runs/run_config.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// What sets a bound: the lane, memory or link that is busy for that long, or a chain of tasks that
/// must follow each other.
enum class BoundBy : std::uint8_t { compute, h2d, d2h, dram, cpu, disk, chain };
inline constexpr std::size_t kBounds = 7;
const char* to_string(BoundBy by);

/// Seconds of the passes of one step, each alone on the machine and without recomputation.
struct PassTimes {
  /// Seconds of one pass of one micro-batch through one unit. Of blocks of several kinds these are
  /// means, so that a pass through all blocks takes as many times the mean as there are blocks;
  /// embed_norm is the norm of the embedding's gradient.
  Seconds embed_forward{0}, block_forward{0}, loss{0};
  Seconds block_backward{0}, embed_backward{0};
  /// Seconds of rebuilding what a block's record lacks where it keeps as much, of the kind of block
  /// where that takes least: a plan may rebuild blocks of that kind alone.
  Seconds recompute_input{0}, recompute_selective{0};
  /// Seconds of passes through a block of the kind where they take least, and most.
  Seconds least_block_forward{0}, most_block_forward{0};
  Seconds least_block_backward{0}, most_block_backward{0};
  /// Seconds of rebuilding blocks of the kind where that takes most, and of all kinds' mean.
  Seconds most_recompute_input{0}, most_recompute_selective{0};
  Seconds mean_recompute_input{0}, mean_recompute_selective{0};
  Seconds embed_norm{0};
  /// Seconds of work that is done once a step: gradient norms of all units, and adding a tied
  /// head's gradient.
  Seconds once{0};
  /// Seconds of a block's update where Muon has its matrices, which runs on the device in every
  /// plan; 0 for other optimizers.
  Seconds block_update{0};
  Seconds group_sums{0};  ///< Seconds of adding up the sums of all groups of micro-batches.
};
/// Seconds of the passes of the job's step by `costs`; with several `ranks` of those of one rank,
/// whose part (part_of_rank) `job` is: once a step it also adds up the ranks' sums of its slices.
[[nodiscard]] PassTimes pass_times(const Job& job, const CostModel& costs, std::int64_t ranks = 1);

/// A time of a step that no plan beats, and what sets it.
struct Bound {
  Seconds time{0};
  BoundBy by = BoundBy::compute;  ///< What sets the bound.
  /// Least time of a step by each resource alone, by BoundBy.
  std::array<Seconds, kBounds> each{};
};

/// The bound of a job. With N padded parameters, of which H / 12 can live in HBM with all their
/// state (0 for Residency::host), n = max(0, N - H / 12) the rest, s of these staged (their state
/// on the host, their update on the device) and u = n - s updated on the CPU; e bytes of a streamed
/// weight, g of a gradient, each at the fastest rate that profile or calibration has:
///
///   compute  all passes of all micro-batches and sums of groups, no recomputation
///   h2d      e u (after every update) + (12 - e) s + max(0, e (n_blocks - s) - H) (backward: not
///            everything stayed)
///   d2h      g u + 12 s
///   dram     the same bytes and u updates, by the profile's coefficients
///   (with Muon 8 in place of 12 everywhere, and compute has the updates of all blocks)
///   cpu      u updates; and on the host backend all core-seconds over the cores
///   disk     what neither HBM nor host memory can hold of 12 bytes a parameter, read and written
///   chain    with clipping, no update starts before the norm: the largest of embedding updated,
///            copied, then compute (0 where it can be resident or staged); all u updated, then loss
///            and backward; all u copied, and of s what had no room beside its gradients before
///            the norm, then loss and backward
///
/// Passes count as sustained: with boost a lane's time is still at least its work (sim/boost.hpp);
/// in chain, they count as fast as they may be after a rest. The bound is the largest of these at
/// the s that makes it least, in the steady state; updates on the device are not counted. `by`
/// names the largest; where chain is within 2 % of another, the other.
[[nodiscard]] Bound bound_of(const Job& job, const ProfileCostModel& costs,
                             const ResolvedMachine& machine, Residency residency);

/// The bound by compute alone of a step that `ranks` ranks share: all passes of a rank's
/// micro-batches and sums of its groups, and what it does once a step (pass_times).
[[nodiscard]] Bound bound_of_ranks(const Job& job, std::int64_t ranks, const CostModel& costs);

}  // namespace sluice::planner
