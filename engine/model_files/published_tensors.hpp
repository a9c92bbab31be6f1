// Tensors as a family's published checkpoints have them, each made of one or more tensors in
// memory.
#pragma once

#include <string>
#include <vector>

#include "engine/model_files/element_map.hpp"
#include "planner/models/shape.hpp"

namespace sluice::engine {

/// A tensor in memory, and where its elements lie in a published tensor.
struct PublishedPart {
  std::size_t unit;
  planner::TensorSpec tensor;
  ElementMap map;
};

struct PublishedTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<PublishedPart> parts;
  /// Whether it is a stack of experts' matrices, which may be published in MXFP4.
  bool expert_matrices = false;
};

/// Order of the last two dimensions of stacks that a family publishes transposed.
enum class StackOrder {
  published,
  rows_first,  ///< Every row of a matrix in one piece, as blocks of MXFP4 have it.
};

/// All tensors of a model's checkpoints, units in forward order.
[[nodiscard]] std::vector<PublishedTensor> published_tensors(const planner::ModelShape& shape,
                                                             StackOrder order);
/// All tensors of a model as they are in memory, under their own names.
[[nodiscard]] std::vector<PublishedTensor> tensors_in_memory(const planner::ModelShape& shape);
/// Shape of a tensor that a checkpoint has as it is in memory.
[[nodiscard]] std::vector<std::int64_t> own_shape(const planner::TensorSpec& tensor);

}  // namespace sluice::engine
