// Work of a gated delta net (docs/design/gated-delta-net.md): projections, and the rule in chunks.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/costs/cost.hpp"
#include "planner/models/shape.hpp"

namespace sluice::planner {

/// Products of `tokens` tokens with the matrices of a gated delta net's input: q and k, v and the
/// gate, rates and decays.
[[nodiscard]] std::vector<Gemm> delta_projections(const ModelShape& shape, std::int64_t tokens);

/// Adds the convolution, the rule and the norm behind it. Products of chunks are stated as one
/// product of all tokens and heads with a chunk's other side, which has their FLOPs: batched
/// products of that size run as such, not as one kernel each. Elements of the convolution, the gate
/// and the norm are read and written once; states are written and read in fp32.
void add_delta_rule(Work& work, const DeltaNet& net, std::int64_t tokens, std::int64_t element);

/// Adds their backward pass, which computes the states and the chunks' products again.
void add_delta_rule_backward(Work& work, const DeltaNet& net, std::int64_t tokens,
                             std::int64_t element);

}  // namespace sluice::planner
