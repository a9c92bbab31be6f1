// Experts that lie in a file as one tensor of each block, as transformers 5 may write them.
#pragma once

#include "engine/model_files/tensor_places.hpp"
#include "planner/models/shape.hpp"

namespace sluice::engine {

/// Replaces stacked experts among `places` by every expert's own tensors. With E experts of width I
/// and H hidden elements, a block's stacks are mlp.experts.gate_up_proj [E, 2I, H] (all gates of an
/// expert, then all ups) or gate_proj and up_proj [E, I, H], and down_proj [E, H, I]; or all of a
/// model with the last two axes exchanged, as older modeling code has them. The router of mixtral
/// is then called as that of qwen3_moe. Throws BadRequest `model: FILE: tensor NAME: ...` for a
/// stack of another shape.
void unstack_experts(TensorPlaces& places, const planner::ModelShape& shape);

}  // namespace sluice::engine
