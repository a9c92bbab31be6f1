// Division of a model's state into pieces that threads read and write independently.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model_files/state_source.hpp"
#include "planner/models/shape.hpp"

namespace sluice::engine {

/// Elements first .. first + elements - 1 of one tensor's weights, m or v.
struct StatePiece {
  StatePart part;
  std::size_t unit;
  std::size_t tensor;  ///< Index of the tensor in unit_tensors (planner/models/shape.hpp).
  std::int64_t first;
  std::int64_t elements;
};

/// All pieces of a model's state, each at most planner::kStatePiece elements: part by part, units
/// in forward order and their tensors in that of unit_tensors (planner/models/shape.hpp).
class StatePieces {
 public:
  StatePieces(const planner::ModelShape& shape, const std::vector<StatePart>& parts);

  [[nodiscard]] std::size_t size() const { return pieces_.size(); }
  [[nodiscard]] const StatePiece& operator[](std::size_t index) const { return pieces_[index]; }
  [[nodiscard]] const planner::TensorSpec& tensor(const StatePiece& piece) const {
    return units_[piece.unit].tensors[piece.tensor];
  }
  /// Number of elements of all pieces.
  [[nodiscard]] std::int64_t elements() const { return elements_; }

 private:
  std::vector<planner::UnitTensors> units_;
  std::vector<StatePiece> pieces_;
  std::int64_t elements_ = 0;
};

/// Number of threads that load, initialize or save pieces: one per core, at most
/// planner::kStateThreads, so that the memory they hold is bounded (planner::PhaseMemory).
[[nodiscard]] std::int64_t state_threads();

}  // namespace sluice::engine
