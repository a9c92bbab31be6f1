// A plan by counts: how many blocks make each choice and in which order, for equal blocks need no
// more. What a relaxation finds becomes a plan here.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "planner/relaxation/plan_relaxation.hpp"

namespace sluice::planner {

/// Blocks that make one choice.
struct BlockCount {
  UnitPlan choice;
  std::int64_t blocks = 0;
};

struct PlanSketch {
  /// How blocks of several choices follow each other.
  enum class Order {
    grouped,   ///< In the order of the list.
    reversed,  ///< In the other.
    spread,    ///< As evenly as they go, so that no link has all its work at once.
    /// Of records: the device's, then the others' as evenly as they go. Of one round those of the
    /// host then go before most gradients come, where the last of these wait on the device.
    device_first,
    /// Of records: as evenly as they go by the bytes that leave the device, so that no block's
    /// stores follow another's more closely than they must.
    level
  };
  std::vector<BlockCount> records;      ///< keep and keep_tier count.
  std::vector<BlockCount> residencies;  ///< The other fields.
  Order record_order = Order::level, residency_order = Order::grouped;
  /// What a micro-batch's record holds, by `Keep`.
  std::array<Bytes, 3> record_bytes{};
  /// Where no block has moved since: what it was sketched from.
  std::optional<RelaxedNode> from;
  bool updates_bind = false;  ///< CPU updates have a price in what it was sketched from.
  Plan rest;                  ///< Embedding, head, rounds and everything that is not by unit.
};

[[nodiscard]] bool offloads_records(const PlanSketch& sketch);
/// Whose state visits the device.
[[nodiscard]] std::int64_t staged_blocks(const PlanSketch& sketch);
/// `blocks` that make the choice `from` make `to` instead; false where they are fewer.
[[nodiscard]] bool move_blocks(std::vector<BlockCount>& counts, const UnitPlan& from,
                               const UnitPlan& to, std::int64_t blocks);

/// Where no record is offloaded with the fewest stream buffers, for more do nothing.
[[nodiscard]] Plan to_plan(const PlanSketch& sketch);

/// Whole counts near a relaxed solution. Records: what leaves the device first, what keeps most
/// last. Residencies: what the GPU updates first, so that the CPU has its forward pass for the
/// rest; then what keeps its gradient on the device, which so comes when records there have gone.
/// `rest` starts from `usual`.
[[nodiscard]] PlanSketch sketch_of(const PlanRelaxation& relaxation, const RelaxedNode& node,
                                   const RelaxedPlan& relaxed, const Plan& usual);

}  // namespace sluice::planner
