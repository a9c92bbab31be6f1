// AdamW on the 12-byte state: one fused pass that reads and writes high, low, m and v and reads the
// gradient. CPU and GPU share this list of operations (each rounded to fp32 once, to nearest even,
// denormals kept):
//   g  = gradient * clip_scale
//   m  = fma(1 - beta1, g, beta1 * m)
//   v  = fma(1 - beta2, g * g, beta2 * v)
//   d  = fma(sqrt(v), 1 / sqrt(1 - beta2^t), eps)
//   p  = fma(-lr * weight_decay, p, p)            only tensors that decay
//   p  = fma(-lr / (1 - beta1^t), m / d, p)
// All constants are computed in double on the host and rounded to fp32 once. Source: Loshchilov and
// Hutter, "Decoupled weight decay regularization", algorithm 2, in the form PyTorch's AdamW has.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "engine/optimizer/thread_pool.hpp"
#include "planner/models/job.hpp"
#include "planner/models/shape.hpp"

namespace sluice::engine {

/// Constants of AdamW (Loshchilov and Hutter, algorithm 2) in optimizer step t with learning rate
/// lr, computed in double and rounded to fp32 once.
struct AdamWStep {
  float clip_scale;
  float beta1, one_minus_beta1;
  float beta2, one_minus_beta2;
  float inverse_root_correction2;  ///< 1 / sqrt(1 - beta2^t)
  float eps;
  float minus_decay;      ///< -lr * weight_decay
  float minus_step_size;  ///< -lr / (1 - beta1^t)
  float minus_lr = 0;     ///< -lr, for Muon (engine/optimizer/muon.hpp).
  /// Whether the step changes no element, because it has no target to learn from: decay and
  /// momentum alone would still move the weights.
  bool changes_nothing = false;
  /// Stream of the step's random bits (rounding_stream), by which moments in bf16 are rounded.
  std::uint64_t rounding = 0;
};

/// Scale that brings a global gradient norm to at most settings.clip, as PyTorch's clip_grad_norm_:
/// min(1, clip / (norm + 1e-6)); 1 without clipping.
[[nodiscard]] float clip_scale(const planner::AdamWSettings& settings, double norm);

/// Constants of optimizer step `step` (from 1) with learning rate `lr`; gradients are multiplied by
/// `clip_scale`.
[[nodiscard]] AdamWStep adamw_step(const planner::AdamWSettings& settings, double lr,
                                   std::int64_t step, float clip_scale);

/// Addresses of one unit's optimizer state and gradient: arrays of [padded] elements each, which
/// are the unit's parameters with padding.
struct AdamWOperands {
  std::uint16_t* high;
  std::uint16_t* low;
  float* m;
  float* v;
  const void* gradient;  ///< fp32, or bf16 where `wire` is bf16.
  planner::GradientWire wire = planner::GradientWire::fp32;
};

/// Consecutive elements of a unit's parameter vector, all with weight decay or all without. Padding
/// belongs to no span.
struct AdamWSpan {
  std::int64_t begin, end;
  bool decays;
};
[[nodiscard]] std::vector<AdamWSpan> adamw_spans(const planner::UnitTensors& unit);

/// Elements that one thread updates at a time. Such a block moves 1.75 MiB, so that start-up of
/// prefetchers at its ends and threads that finish at different times cost little.
inline constexpr std::int64_t kUpdateBlock = 65536;

/// Range of a unit's elements that one update covers; the pointers of AdamWOperands then begin at
/// element `first`.
struct AdamWPart {
  std::int64_t first = 0;
  std::int64_t count = std::numeric_limits<std::int64_t>::max();
};

/// Updates those elements of `spans` that lie in `part`, in fixed blocks over at most `threads`
/// workers of `pool`. The result depends neither on threads nor on the instruction set. A step that
/// changes nothing touches no element.
void adamw_update(const AdamWOperands& operands, std::span<const AdamWSpan> spans,
                  const AdamWStep& step, ThreadPool& pool, int threads, AdamWPart part = {});

/// One compiled version of the update for an instruction set. All versions give equal bits; tests
/// and the numerics id list them.
struct AdamWPath {
  std::string_view name;  ///< "avx512" or "avx2", either with " streamed" appended, or "portable".
  bool supported;         ///< Whether this processor can run it.
  void (*update)(const AdamWOperands& operands, std::int64_t begin, std::int64_t end, bool decays,
                 const AdamWStep& step);
};
/// All compiled versions of the update, fastest first.
[[nodiscard]] std::span<const AdamWPath> adamw_paths();

}  // namespace sluice::engine
