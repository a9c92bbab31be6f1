// Causal depthwise convolution before the gated delta rule, with silu
// (docs/design/gated-delta-net.md).
#pragma once

#include <cstdint>
#include <span>

#include "planner/models/delta_net.hpp"
#include "planner/models/job.hpp"

namespace sluice::engine {

using planner::kDeltaTaps;

/// Documents of a stretch of tokens: document i is tokens bounds[i] .. bounds[i + 1] - 1. The first
/// bound is 0, the last the number of tokens.
using DocumentBounds = std::span<const std::int64_t>;

/// y[t, c] = silu(sum over j < 4 of weight[c, j] x[t - 3 + j, c]), where tokens before t's document
/// count as zero; rounded to `compute`. x and y are [tokens, channels], weight [channels, 4].
void delta_conv(planner::ComputeType compute, DocumentBounds documents, std::int64_t channels,
                const float* x, const float* weight, float* y);

/// Backward pass of delta_conv: d_x [tokens, channels], rounded to `compute`, from d_y; d_weight
/// [channels, 4] += the weight's gradient, tokens in order. `scratch`: [channels].
void delta_conv_backward(planner::ComputeType compute, DocumentBounds documents,
                         std::int64_t channels, const float* x, const float* weight,
                         const float* d_y, float* scratch, float* d_x, float* d_weight);

/// One more token of a document: y [channels] from x [channels] and `window`, the inputs of the
/// three tokens before it [3, channels], oldest first and zero before the document; the window
/// moves on. Gives the bits of delta_conv. y may not be x.
void delta_conv_step(planner::ComputeType compute, std::int64_t channels, const float* x,
                     const float* weight, float* window, float* y);

}  // namespace sluice::engine
