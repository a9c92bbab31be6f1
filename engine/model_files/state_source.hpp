// Where the state of a model's tensors can be read from: a model folder, a checkpoint, a run.
#pragma once

#include <cstdint>
#include <span>

#include "planner/models/shape.hpp"

namespace sluice::engine {

/// What is kept of every parameter: its fp32 master and AdamW's two moments.
enum class StatePart { weights, m, v };

class StateSource {
 public:
  virtual ~StateSource() = default;
  /// Elements first .. first + out.size() - 1 of `part` of tensor `tensor` of unit `unit` into
  /// `out`. Called from several threads at a time. Throws BadRequest for values that cannot be
  /// state, EnvironmentError where they cannot be read.
  virtual void read(StatePart part, std::size_t unit, const planner::TensorSpec& tensor,
                    std::int64_t first, std::span<float> out) const = 0;
};

}  // namespace sluice::engine
