// Computation of the head for one micro-batch: final norm, lm_head and cross-entropy, loss_chunk
// tokens at a time.
#pragma once

#include <cstdint>

#include "engine/host/elementwise.hpp"
#include "engine/host/gemm.hpp"
#include "engine/host/templates.hpp"

namespace sluice::engine {

/// Computation of the head (final norm, lm_head, loss) in one call.
class HeadRun {
 public:
  HeadRun(const HostTemplates& templates, Workspace workspace);

  [[nodiscard]] double loss(const LossArguments& arguments);
  [[nodiscard]] double loss_only(const LossArguments& arguments);
  void logits(Weights head, Weights embed, const std::byte* input, std::int64_t count,
              float* logits);

 private:
  [[nodiscard]] float* scratch(Bytes offset) const;
  [[nodiscard]] WeightMatrix matrix(Weights head, Weights embed) const;
  const float* norm_weight(Weights head);
  /// Computes the final norm of `count` tokens into scratch; returns the norm's input as fp32.
  const float* normalize(Weights head, const std::byte* input, std::int64_t count);
  /// Computes the logits of `count` tokens, whose norm is in scratch, with the model's factor and
  /// bound.
  void project(Weights head, Weights embed, std::int64_t count, float* logits);
  /// Summed cross-entropy of `count` tokens, whose logits are in scratch; the logits become their
  /// own gradient times `scale`, or stay if `scale` is zero.
  double cross_entropy(const std::int32_t* targets, std::int64_t count, float scale);
  void chunk_backward(const LossArguments& arguments, const float* x, std::int64_t begin,
                      std::int64_t count);

  const planner::Job& job_;
  const planner::ModelShape& shape_;
  const planner::HeadWorkspace& space_;
  const EndSlots& slots_;
  Workspace workspace_;
  const Elementwise& kernels_;
  std::int64_t row_bytes_;  ///< Size of a row of the residual stream in bytes.
  std::int64_t chunk_;
};

}  // namespace sluice::engine
