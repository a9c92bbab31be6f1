// Interface for reading the state of a model's tensors: from a model folder, a checkpoint or a run.
#pragma once

#include <cstdint>
#include <span>

#include "planner/models/shape.hpp"

namespace sluice::engine {

/// What is stored for every parameter: its fp32 master weight and AdamW's two moments.
enum class StatePart { weights, m, v };

/// Function that says whether a tensor of a unit has no such part and is left out of files.
using LeavesOut = bool (*)(const planner::ModelShape& shape, std::size_t unit,
                           const planner::TensorSpec& tensor);

class StateSource {
 public:
  virtual ~StateSource() = default;
  /// Reads elements first .. first + out.size() - 1 of `part` of tensor `tensor` of unit `unit`
  /// into `out`. Called from several threads at a time. Throws BadRequest for values that are not
  /// valid state, EnvironmentError if they cannot be read.
  virtual void read(StatePart part, std::size_t unit, const planner::TensorSpec& tensor,
                    std::int64_t first, std::span<float> out) const = 0;
};

}  // namespace sluice::engine
