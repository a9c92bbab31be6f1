// Where on the disk each unit's tensors lie, in blocks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "planner/graph/step_graph.hpp"
#include "planner/models/shape.hpp"
#include "planner/plans/disk_state.hpp"

namespace sluice::engine {

/// Planes of a unit that a piece on the disk holds.
enum class DiskPlane { high, low, moment1, moment2 };

/// Bytes of a plane that lie in one block.
struct DiskPart {
  std::int64_t block;        ///< Number.
  std::int64_t block_bytes;  ///< Of it.
  std::int64_t at;           ///< Where in it they begin.
  std::int64_t bytes;
};

/// The layout of a graph's disk file: from unit, plane and offset to blocks, and back to what a
/// block is of.
class DiskLayout {
 public:
  DiskLayout(const planner::ModelShape& shape, const planner::StepGraph& graph);

  [[nodiscard]] bool holds(std::size_t unit) const { return !pieces_[unit].empty(); }
  [[nodiscard]] bool holds(std::size_t unit, DiskPlane plane) const;
  /// The first of `bytes` bytes from `offset` of a unit's plane: those in one block.
  [[nodiscard]] DiskPart part_at(std::size_t unit, DiskPlane plane, std::int64_t offset,
                                 std::int64_t bytes) const;
  /// "weights of L1, block 2": what a block holds, for messages.
  [[nodiscard]] std::string name_of(std::int64_t block) const;
  /// Of the largest piece of anything.
  [[nodiscard]] Bytes largest_piece() const;

 private:
  struct Region;
  [[nodiscard]] Region region_of(std::size_t unit, const planner::DiskPiece& piece,
                                 DiskPlane plane) const;

  std::vector<std::vector<planner::DiskPiece>> pieces_;  ///< Of each unit.
  std::vector<std::int64_t> begin_;                      ///< Of each unit's state in the file,
  std::vector<std::int64_t> weights_begin_;              ///< and of its weights.
  std::map<std::int64_t, std::string> tensors_;          ///< By their first block.
  bool low_ = false;                                     ///< Pieces of state begin with low halves.
};

}  // namespace sluice::engine
