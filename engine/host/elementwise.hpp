// Kernels of the host backend other than matrix products. Each is compiled for several instruction
// sets from one source (elementwise_kernels.inc) and gives the same bits on all of them: without
// contraction, and with every reduction in 16 lanes that are added in a fixed tree.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "planner/models/job.hpp"

namespace sluice::engine {

/// One head's rotary and norm parameters at one position. `norm` is null without q/k norms.
struct RotaryRow {
  const float* cos;  ///< Cosines at the position, [head_dim / 2]; `sin` has the sines.
  const float* sin;
  const float* norm;  ///< Norm weight, [head_dim].
  float eps;
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
  /// y[i] = silu(gate[i]) * up[i], rounded to E's precision.
  void (*swiglu)(const void* gate, const void* up, std::int64_t n, float* y);
  /// Backward pass of swiglu. On entry d_up holds the gradient of y; on return d_gate and d_up hold
  /// the gradients of gate and up, rounded to E's precision.
  void (*swiglu_backward)(const void* gate, const void* up, std::int64_t n, float* d_gate,
                          float* d_up);
  /// y [head_dim] = rotary embedding of x, one head of one token, after its norm (if row.norm is
  /// set; *rstd then becomes the reciprocal RMS of x); rounded to E's precision.
  void (*rotary)(const void* x, std::int64_t head_dim, const RotaryRow& row, float* rstd, float* y);
  /// Backward pass of `rotary`: dy becomes the gradient of x, rounded to E's precision; d_norm
  /// [head_dim] += the norm weight's gradient.
  void (*rotary_backward)(const void* x, std::int64_t head_dim, const RotaryRow& row, float rstd,
                          float* d_norm, float* dy);
  /// Returns the sum of a[i] * b[i].
  float (*dot)(const float* a, const void* b, std::int64_t n);
  /// Returns the cross-entropy of one token with `logits` [vocab], in nats. The logits become scale
  /// * (softmax - onehot), rounded to E's precision; if `scale` is zero they stay.
  float (*cross_entropy)(float* logits, std::int64_t vocab, std::int64_t target, float scale);
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
  /// a[i] += b[i], both fp32.
  void (*add)(float* a, const float* b, std::int64_t n);
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
