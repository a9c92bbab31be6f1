// Work of a gated delta net (docs/design/gated-delta-net.md): projections, and the rule in chunks.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/costs/cost.hpp"
#include "planner/models/shape.hpp"

namespace sluice::planner {

/// The product of `tokens` tokens with the matrices of a gated delta net's input, all in one.
[[nodiscard]] std::vector<Gemm> delta_projections(const ModelShape& shape, std::int64_t tokens);

/// Adds the convolution, the rule and the norm behind it, as the cuda backend computes them: U and
/// W for all chunks at a time, then a walk through them (engine/cuda/kernels/delta_rule.hpp).
/// Products of chunks are stated as one product of all tokens and heads with a chunk's other side,
/// which has their FLOPs. Bytes are those that kernels read and write, each counted once a kernel.
void add_delta_rule(Work& work, const DeltaNet& net, std::int64_t tokens, std::int64_t element);

/// Adds their backward pass, which computes the states and the chunks' products again.
void add_delta_rule_backward(Work& work, const DeltaNet& net, std::int64_t tokens,
                             std::int64_t element);

}  // namespace sluice::planner
