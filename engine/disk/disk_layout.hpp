// Layout of a run's disk file: the blocks in which each unit's tensors lie.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "planner/graph/step_graph.hpp"
#include "planner/models/shape.hpp"
#include "planner/plans/disk_state.hpp"

namespace sluice::engine {

/// The planes of a unit that can lie on the disk: both halves of the master weights, both moments
/// of AdamW.
enum class DiskPlane { high, low, moment1, moment2 };

/// A stretch of a unit's plane that lies within one block of the disk file.
struct DiskPart {
  std::int64_t block;        ///< Number of the block in the file, from 0.
  std::int64_t block_bytes;  ///< Size of the block in bytes.
  std::int64_t at;           ///< Offset of the part within the block, in bytes.
  std::int64_t bytes;
};

/// Layout of a graph's disk file: maps unit, plane and offset to blocks, and a block back to the
/// tensor it holds.
class DiskLayout {
 public:
  DiskLayout(const planner::ModelShape& shape, const planner::StepGraph& graph);

  [[nodiscard]] bool holds(std::size_t unit) const { return !pieces_[unit].empty(); }
  [[nodiscard]] bool holds(std::size_t unit, DiskPlane plane) const;
  /// Finds the block that holds byte `offset` of a unit's plane, and how many of the `bytes` bytes
  /// from there on lie in it.
  [[nodiscard]] DiskPart part_at(std::size_t unit, DiskPlane plane, std::int64_t offset,
                                 std::int64_t bytes) const;
  /// What a block holds, for messages: "weights of L1, block 2".
  [[nodiscard]] std::string name_of(std::int64_t block) const;
  /// Largest number of contiguous bytes that one piece's optimizer state, gradient or weights take
  /// in the file.
  [[nodiscard]] Bytes largest_piece() const;

 private:
  struct Region;
  [[nodiscard]] Region region_of(std::size_t unit, const planner::DiskPiece& piece,
                                 DiskPlane plane) const;

  /// Pieces of each unit's vector, by unit; empty for units of which nothing lies on the disk.
  std::vector<std::vector<planner::DiskPiece>> pieces_;
  /// Offset of each unit's optimizer state in the file, in bytes, by unit.
  std::vector<std::int64_t> begin_;
  /// Offset of each unit's weights in the file, in bytes, by unit.
  std::vector<std::int64_t> weights_begin_;
  /// Names of tensors by the number of their first block.
  std::map<std::int64_t, std::string> tensors_;
  /// Whether pieces of optimizer state begin with low halves.
  bool low_ = false;
};

}  // namespace sluice::engine
