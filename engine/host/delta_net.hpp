// The gated delta rule: a linear recurrence over tokens, computed in chunks
// (docs/design/gated-delta-net.md).
#pragma once

#include <cstdint>

#include "engine/host/delta_conv.hpp"
#include "planner/models/delta_net.hpp"

namespace sluice::engine {

using planner::kDeltaChunk;
using DeltaSizes = planner::DeltaNet;

/// Inputs of the rule, fp32.
struct DeltaInputs {
  const float* mixed;  ///< Queries, keys and values before they are normalised, [tokens, channels].
  const float* g;      ///< Logarithms of decays, at most zero, [tokens, value_heads].
  const float* beta;   ///< Learning rates, [tokens, value_heads].
};

/// With q and k normalised to length 1 (eps 1e-6 under the root), q divided by key_dim^1/2, and
/// S = 0 before each document:
///   S_t = exp(g_t) S_{t-1} + k_t beta_t (v_t - exp(g_t) S_{t-1}^T k_t)^T,   o_t = S_t^T q_t.
/// o is [tokens, value_heads, value_dim], rounded to `compute`; all else is fp32. `scratch`:
/// planner::delta_rule_floats for the longest document. `last` [state], if not null, receives S
/// after the last token.
void delta_rule(planner::ComputeType compute, const DeltaSizes& sizes, DocumentBounds documents,
                const DeltaInputs& inputs, float* scratch, float* o, float* last);

/// Gradients of DeltaInputs, of their shapes.
struct DeltaGradients {
  float *mixed, *g, *beta;
};
/// Backward pass of delta_rule from d_o, which computes the states before chunks again, with the
/// bits that they had. gradients.mixed is rounded to `compute`.
void delta_rule_backward(planner::ComputeType compute, const DeltaSizes& sizes,
                         DocumentBounds documents, const DeltaInputs& inputs, float* scratch,
                         const float* d_o, const DeltaGradients& gradients);

/// One more token of a document, by the recurrence itself: o [value_heads, value_dim] from one
/// token's inputs and S before it in `state`, which moves on. Sums are in another order than in
/// chunks, so that o differs from delta_rule's by rounding. `scratch`: 2 key_dim + value_dim.
void delta_rule_step(planner::ComputeType compute, const DeltaSizes& sizes,
                     const DeltaInputs& inputs, float* state, float* scratch, float* o);

}  // namespace sluice::engine
