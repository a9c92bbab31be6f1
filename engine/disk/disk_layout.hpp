// Layout of a run's disk file: the blocks in which each unit's tensors lie.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/optimizer/moment_layout.hpp"
#include "planner/graph/step_graph.hpp"
#include "planner/models/shape.hpp"
#include "planner/plans/disk_state.hpp"

namespace sluice::engine {

/// The planes of a unit that can lie on the disk, vectors with an element for each parameter: the
/// high and low halves of the fp32 master weights (2 bytes each), AdamW's first and second moment
/// (4 bytes each, 2 in bf16, codes of 1 in int8), and the scales of those codes (4 bytes for each
/// kMomentBlock elements).
enum class DiskPlane { high, low, moment1, moment2, scales1, scales2 };

/// A stretch of a unit's plane (DiskPlane) that lies within one block of the disk file.
struct DiskPart {
  std::int64_t block;  ///< Number of the block in the disk file, from 0.
  /// Size of that block in bytes; the last block of a piece may be shorter.
  std::int64_t block_bytes;
  std::int64_t at;  ///< Offset of the stretch within the block, in bytes.
  std::int64_t bytes;
};

/// Layout of a step graph's disk file: finds the block for a byte of a unit's plane, and the name
/// of the tensor that a block holds.
class DiskLayout {
 public:
  DiskLayout(const planner::ModelShape& shape, const planner::StepGraph& graph);

  [[nodiscard]] bool holds(std::size_t unit) const { return !pieces_[unit].empty(); }
  [[nodiscard]] bool holds(std::size_t unit, DiskPlane plane) const;
  /// Finds the block that holds byte `offset` of a unit's plane, and how many of the next `bytes`
  /// bytes of the plane lie in it.
  [[nodiscard]] DiskPart part_at(std::size_t unit, DiskPlane plane, std::int64_t offset,
                                 std::int64_t bytes) const;
  /// What block number `block` of the file holds, for messages: "weights of L1, block 2", where
  /// blocks are counted from the tensor's first.
  [[nodiscard]] std::string name_of(std::int64_t block) const;
  /// Size in bytes of the file's largest contiguous stretch that is moved at once: the optimizer
  /// state, the gradient or the weights of one piece of a unit.
  [[nodiscard]] Bytes largest_piece() const;

 private:
  struct Region;
  [[nodiscard]] Region region_of(std::size_t unit, const planner::DiskPiece& piece,
                                 DiskPlane plane) const;

  [[nodiscard]] PlaneSize size_of(DiskPlane plane) const;

  planner::StateType type_;
  /// Pieces into which each unit's parameters are cut for the disk, by unit; empty for units of
  /// which nothing lies on the disk.
  std::vector<std::vector<planner::DiskPiece>> pieces_;
  /// Where each unit's optimizer state begins in the file, in bytes, by unit.
  std::vector<std::int64_t> begin_;
  /// Where each unit's weights begin in the file, in bytes, by unit.
  std::vector<std::int64_t> weights_begin_;
  /// Names of the tensors in the file, by the number of their first block.
  std::map<std::int64_t, std::string> tensors_;
  /// Whether the optimizer state on the disk holds the low halves of the weights, before the
  /// moments; otherwise they lie with the weights, or not on the disk.
  bool low_ = false;
};

}  // namespace sluice::engine
