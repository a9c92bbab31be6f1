// Sketches of plans: how many blocks make each choice and in which order. A relaxation's counts
// become a plan here.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "planner/relaxation/plan_relaxation.hpp"

namespace sluice::planner {

/// A choice for a block, and the number of blocks that make it.
struct BlockCount {
  UnitPlan choice;
  std::int64_t blocks = 0;
};

/// A plan that says how many blocks make each choice and in which order the choices follow each
/// other, instead of what each block does.
struct PlanSketch {
  /// Order in which blocks with different choices follow each other, from the first block to the
  /// last.
  enum class Order {
    grouped,   ///< All blocks of one choice together, in the order of the list of counts.
    reversed,  ///< All blocks of one choice together, in the reverse order of the list of counts.
    /// Blocks of each choice spread as evenly as possible, so that no link has all its work at
    /// once.
    spread,
    /// Blocks with records on the device first, then those with records on the host, each group
    /// spread. With one round the latter records then leave the host before most gradients come.
    device_first,
    /// For records: blocks ordered so that the bytes that leave the device grow as evenly as
    /// possible from block to block, and no more stores than necessary follow each other closely.
    level
  };
  /// Numbers of blocks by `keep` and `keep_tier`, the only fields of these choices that count.
  std::vector<BlockCount> records;
  std::vector<BlockCount> residencies;  ///< Numbers of blocks by all other fields of their choices.
  Order record_order = Order::level, residency_order = Order::grouped;
  /// Bytes that one micro-batch's record of one block takes with Keep::input, selective and all.
  std::array<Bytes, 3> record_bytes{};
  /// The node of the relaxation that it was sketched from; none once a block, the embedding or the
  /// head has made another choice.
  std::optional<RelaxedNode> from;
  /// Whether CPU updates limited the step in the solution of that node: constraint cpu, dram,
  /// update_span_updates or update_span_dram had a price.
  bool updates_bind = false;
  /// The plan apart from its blocks: embedding, head, rounds, buffers and all other fields that are
  /// not by unit.
  Plan rest;
};

/// Whether any block of the sketch keeps its records on the host.
[[nodiscard]] bool offloads_records(const PlanSketch& sketch);
/// Number of blocks whose state lives on the host and is copied to the device for its update.
[[nodiscard]] std::int64_t staged_blocks(const PlanSketch& sketch);
/// Changes `counts` so that `blocks` of the blocks that make the choice `from` make `to` instead.
/// False, with `counts` as they were, where fewer blocks make `from`.
[[nodiscard]] bool move_blocks(std::vector<BlockCount>& counts, const UnitPlan& from,
                               const UnitPlan& to, std::int64_t blocks);

/// The plan that the sketch describes, without pins. Where no record is kept on the host it has the
/// fewest stream buffers, since more would do nothing.
[[nodiscard]] Plan to_plan(const PlanSketch& sketch);

/// Rounds `relaxed`, the solution of `node`, to whole counts of blocks. Embedding and head make the
/// choice with the largest share, rounds are the node's, and all else is as in `usual`. In the list
/// of records those that leave the device come first, and of each kind those that keep most last.
/// In the list of residencies those updated on the device come first, so that the CPU has their
/// forward passes to update the rest; then those with state on the device, then those whose
/// gradients stay there.
[[nodiscard]] PlanSketch sketch_of(const PlanRelaxation& relaxation, const RelaxedNode& node,
                                   const RelaxedPlan& relaxed, const Plan& usual);

}  // namespace sluice::planner
