// Sketches of plans: how many blocks make each choice and in which order. A relaxation's counts
// become a plan here.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "planner/relaxation/plan_relaxation.hpp"

namespace sluice::planner {

/// How many blocks make one choice.
struct BlockCount {
  UnitPlan choice;
  std::int64_t blocks = 0;
};

/// A plan by counts of blocks.
struct PlanSketch {
  /// How blocks of several choices follow each other.
  enum class Order {
    grouped,   ///< In the order of the list.
    reversed,  ///< In the reverse order of the list.
    spread,    ///< As evenly as they go, so that no link has all its work at once.
    /// Records on the device first, then the others, each spread. With one round those on the host
    /// then leave before most gradients come.
    device_first,
    /// Records spread by the bytes that leave the device, so that stores of blocks do not follow
    /// each other more closely than they must.
    level
  };
  std::vector<BlockCount> records;      ///< Counts by keep and keep_tier.
  std::vector<BlockCount> residencies;  ///< Counts by the other fields.
  Order record_order = Order::level, residency_order = Order::grouped;
  /// Bytes of a micro-batch's record, by `Keep`.
  std::array<Bytes, 3> record_bytes{};
  /// The node that it was sketched from; none once a block has moved.
  std::optional<RelaxedNode> from;
  bool updates_bind = false;  ///< Whether CPU updates had a price in that node's program.
  Plan rest;                  ///< Embedding, head, rounds and all fields that are not by unit.
};

[[nodiscard]] bool offloads_records(const PlanSketch& sketch);
/// Counts blocks whose state visits the device.
[[nodiscard]] std::int64_t staged_blocks(const PlanSketch& sketch);
/// Lets `blocks` with the choice `from` make `to` instead; false where there are fewer.
[[nodiscard]] bool move_blocks(std::vector<BlockCount>& counts, const UnitPlan& from,
                               const UnitPlan& to, std::int64_t blocks);

/// The sketch's plan. Where no record is offloaded it has the fewest stream buffers, for more do
/// nothing.
[[nodiscard]] Plan to_plan(const PlanSketch& sketch);

/// Whole counts near a relaxed solution; `rest` starts from `usual`. Records that leave the device
/// come first, those that keep most last. Residencies that the GPU updates come first, so that the
/// CPU has their forward passes for the rest; then those whose gradients stay on the device.
[[nodiscard]] PlanSketch sketch_of(const PlanRelaxation& relaxation, const RelaxedNode& node,
                                   const RelaxedPlan& relaxed, const Plan& usual);

}  // namespace sluice::planner
