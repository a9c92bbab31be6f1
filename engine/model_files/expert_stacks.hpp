// Experts that lie in a file as one tensor of each block, as transformers 5 may write them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "engine/model_files/safetensors.hpp"
#include "planner/models/shape.hpp"

namespace sluice::engine {

/// Where a tensor's elements lie in a file: element [r, c] is number first + r row_step + c
/// col_step of the elements of `entry`, a tensor of `file`.
struct TensorPlace {
  const SafetensorsFile* file = nullptr;
  const TensorEntry* entry = nullptr;
  /// Whether the tensor is only a part of the entry, as one expert of a stack is; the entry then
  /// has another shape.
  bool part = false;
  std::int64_t first = 0, row_step = 0, col_step = 1;
};
using TensorPlaces = std::map<std::string, TensorPlace>;

/// Replaces stacked experts among `places` by every expert's own tensors. With E experts of width I
/// and H hidden elements, a block's stacks are mlp.experts.gate_up_proj [E, 2I, H] (all gates of an
/// expert, then all ups) or gate_proj and up_proj [E, I, H], and down_proj [E, H, I]; or all of a
/// model with the last two axes exchanged, as older modeling code has them. The router of mixtral
/// is then called as that of qwen3_moe. Throws BadRequest `model: FILE: tensor NAME: ...` for a
/// stack of another shape.
void unstack_experts(TensorPlaces& places, const planner::ModelShape& shape);

}  // namespace sluice::engine
