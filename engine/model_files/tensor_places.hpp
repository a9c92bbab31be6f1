// Where each tensor of a model lies in the files of a folder.
#pragma once

#include <map>
#include <string>

#include "engine/model_files/element_map.hpp"
#include "engine/model_files/folder_tensors.hpp"

namespace sluice::engine {

struct TensorPlace {
  StoredTensor stored;
  /// Whether the tensor is only a part of the stored one, as one expert of a stack is; the stored
  /// one then has another shape.
  bool part = false;
  ElementMap map{};
};
using TensorPlaces = std::map<std::string, TensorPlace>;

/// Places of the tensors of `tensors.text`, by the names of unit_tensors
/// (planner/models/shape.hpp). A family's fused and stacked tensors are taken apart
/// (engine/model_files/published_tensors.hpp), and stacked experts of other families too
/// (engine/model_files/expert_stacks.hpp); what a model does not have keeps its name. Throws
/// BadRequest `model: FILE: tensor NAME: ...` for a fused or stacked tensor of another shape.
[[nodiscard]] TensorPlaces find_places(const FolderTensors& tensors,
                                       const planner::ModelShape& shape);

}  // namespace sluice::engine
