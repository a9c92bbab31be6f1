// Kernels of the host backend other than matrix products. Each is compiled for several instruction
// sets from one source (elementwise_kernels.inc) and gives the same bits on all of them: without
// contraction, and with every reduction in 16 lanes that are added in a fixed tree.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "planner/models/job.hpp"

namespace sluice::engine {

/// Rotation of one head at one position: elements i and pairs + i turn against each other for i
/// below `pairs`, which is zero where positions are not encoded; elements from 2 pairs on stay.
struct RotaryRow {
  const float* cos;  ///< Cosines at the position, [pairs]; `sin` has the sines.
  const float* sin;
  std::int64_t pairs;
};

/// Kernels of a feed-forward network's activation, which gives the down projection its input.
struct ActivationKernels {
  /// y[i] = the activation of gate[i] and up[i], rounded to E's precision.
  void (*forward)(const void* gate, const void* up, std::int64_t n, float* y);
  /// Backward pass of `forward`. On entry d_up holds the gradient of y; on return d_gate and d_up
  /// hold the gradients of gate and up, rounded to E's precision.
  void (*backward)(const void* gate, const void* up, std::int64_t n, float* d_gate, float* d_up);
};

/// Kernels for one compute type E: `void*` points to E (float or bf16 bits), sizes are element
/// counts, matrices are row-major. fp32 results that become operands of a matrix product are
/// rounded to E's precision.
struct Elementwise {
  /// out[i] = in[i], converted from E to fp32.
  void (*load)(const void* in, std::int64_t n, float* out);
  /// out[i] = in[i], rounded from fp32 to E.
  void (*store)(const float* in, std::int64_t n, void* out);
  /// out[i] = a[i] + b[i], rounded to E, the type of b and out.
  void (*add_store)(const float* a, const void* b, std::int64_t n, void* out);
  /// a[i] += b[i], where a is fp32 and b is E.
  void (*accumulate)(float* a, const void* b, std::int64_t n);
  /// Rounds the fp32 values x[i] in place to E's precision, as operands of matrix products are.
  void (*round)(float* x, std::int64_t n);
  /// RMSNorm of each row r of x [rows, cols]: rstd[r] = 1 / sqrt(mean(x[r]^2) + eps), y[r] = x[r] *
  /// rstd[r] * weight, rounded to E's precision.
  void (*rms_norm)(const float* x, std::int64_t rows, std::int64_t cols, const float* weight,
                   float eps, float* y, float* rstd);
  /// Backward pass of rms_norm: out [rows, cols] = add + gradient of x, rounded to E; d_weight
  /// [cols] += sum over rows of dy * x * rstd. `add` may be null and may be `out`.
  void (*rms_norm_backward)(const float* dy, const float* x, std::int64_t rows, std::int64_t cols,
                            const float* weight, const float* rstd, const float* add,
                            float* d_weight, void* out);
  /// silu(gate) * up, with silu(x) = x / (1 + e^-x).
  ActivationKernels swiglu;
  /// gelu(gate) * up, with gelu's tanh approximation.
  ActivationKernels geglu;
  /// max(up, 0)^2; gate and d_gate are not touched and may be null.
  ActivationKernels squared_relu;
  /// (up' + 1) * gate' * sigmoid(1.702 gate'), with gate' = min(gate, 7) and up' = up within [-7,
  /// 7].
  ActivationKernels clamped_swiglu;
  /// Returns 1 / sqrt(mean(x[i]^2) + eps).
  float (*reciprocal_rms)(const void* x, std::int64_t n, float eps);
  /// y [head_dim] = rotary embedding of x, one head of one token. If `norm` [head_dim] is set, x is
  /// multiplied by rstd and by `norm` first, and rounded; y is rounded to E's precision.
  void (*rotary)(const void* x, std::int64_t head_dim, const RotaryRow& row, const float* norm,
                 float rstd, float* y);
  /// Backward pass of y[i] = x[i] * rstd * weight[i], where rstd is the reciprocal RMS of the n
  /// values x: dy becomes the gradient of x, rounded to E's precision, and d_weight [n] += the
  /// weight's gradient. d_weight may be null.
  void (*head_norm_backward)(const void* x, std::int64_t n, const float* weight, float rstd,
                             float* d_weight, float* dy);
  /// out[i] = in[i] * factor, rounded to E; may be in place.
  void (*scale)(const void* in, std::int64_t n, float factor, void* out);
  /// a[i] += factor * b[i], where a is fp32 and b is E.
  void (*accumulate_scaled)(float* a, const void* b, std::int64_t n, float factor);
  /// Returns the sum of a[i] * b[i].
  float (*dot)(const float* a, const void* b, std::int64_t n);
  /// Returns the cross-entropy of one token with `logits` [vocab], in nats. The logits become scale
  /// * (softmax - onehot), rounded to E's precision; if `scale` is zero they stay.
  float (*cross_entropy)(float* logits, std::int64_t vocab, std::int64_t target, float scale);
  /// As cross_entropy, for logits that PlainKernels::softcap made with `cap`, of which they become
  /// the gradient before that cap: scale * (softmax - onehot) * (1 - (logit / cap)^2).
  float (*capped_cross_entropy)(float* logits, std::int64_t vocab, std::int64_t target, float scale,
                                float cap);
};

/// Kernels on fp32 values and on weights, independent of the compute type.
struct PlainKernels {
  /// out[i] = the master weight of high[i] and low[i]; the value of high[i] alone if `low` is null.
  void (*join)(const std::uint16_t* high, const std::uint16_t* low, std::int64_t n, float* out);
  /// y[r][c] += bias[c], for y [rows, cols].
  void (*add_bias)(float* y, std::int64_t rows, std::int64_t cols, const float* bias);
  /// sums[c] += sum over r of y[r][c], with r in order.
  void (*column_sums)(const float* y, std::int64_t rows, std::int64_t cols, float* sums);
  /// scores[i] = softmax over [begin, end) of scale * score, and zero elsewhere in [0, n). Returns
  /// the log-sum-exp of the scaled scores.
  float (*softmax)(float* scores, std::int64_t n, std::int64_t begin, std::int64_t end,
                   float scale);
  /// scores[i] = exp(scale * score - lse) in [begin, end), and zero elsewhere in [0, n): the
  /// probabilities that `softmax` gives, computed from its log-sum-exp.
  void (*probabilities)(float* scores, std::int64_t n, std::int64_t begin, std::int64_t end,
                        float scale, float lse);
  /// d[i] = p[i] * (d[i] - delta) * scale: the gradient of the scores from that of the
  /// probabilities p, where delta is the sum of p[i] * d[i].
  void (*softmax_backward)(const float* p, std::int64_t n, float delta, float scale, float* d);
  /// x[i] = cap * tanh(scale * x[i] / cap).
  void (*softcap)(float* x, std::int64_t n, float scale, float cap);
  /// Backward pass of `softcap`, whose results are y: d[i] *= scale * (1 - (y[i] / cap)^2).
  void (*softcap_backward)(const float* y, std::int64_t n, float scale, float cap, float* d);
  /// Transpose of a head's rotation, in place.
  void (*unrotate)(float* x, const RotaryRow& row);
  /// a[i] += b[i], both fp32.
  void (*add)(float* a, const float* b, std::int64_t n);
  /// x[i] *= factor.
  void (*scale)(float* x, std::int64_t n, float factor);
  /// out[i] = 1 / (1 + e^-in[i]), at least 8.7e-27; may be in place.
  void (*logistic)(const float* in, std::int64_t n, float* out);
  double (*sum_squares)(const float* x, std::int64_t n);
  /// out[i] = in[i] rounded to the nearest bf16, ties to even; may be in place.
  void (*to_bf16)(const float* in, std::int64_t n, std::uint16_t* out);
  /// out[i] = e^in[i], relative error below 2.5e-7 on [-87, 88]; smaller inputs give 1.2e-38.
  void (*exponential)(const float* in, std::int64_t n, float* out);
};

struct ElementwisePath {
  std::string_view name;  ///< Instruction set: "avx512", "avx2" or "portable".
  bool supported;         ///< Whether this processor can run this version.
  const Elementwise* fp32;
  const Elementwise* bf16;
  const PlainKernels* plain;
};

/// All compiled versions of the kernels, fastest first.
[[nodiscard]] std::span<const ElementwisePath> elementwise_paths();
/// Kernels for a compute type, of the fastest version that this processor supports.
[[nodiscard]] const Elementwise& elementwise(planner::ComputeType compute);
[[nodiscard]] const PlainKernels& plain_kernels();

}  // namespace sluice::engine
