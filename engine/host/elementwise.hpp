// The kernels of the host backend that are not matrix products. Each is compiled for several
// instruction sets from one source (elementwise_kernels.inc) and gives the same bits on all of
// them: no contraction, and every reduction runs in 16 lanes that are added in a fixed tree.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "planner/models/job.hpp"

namespace sluice::engine {

/// One head's rotary and norm parameters at one position. `norm` is null without q/k norms.
struct RotaryRow {
  const float* cos;  ///< [head_dim / 2]
  const float* sin;
  const float* norm;  ///< [head_dim]
  float eps;
};

/// Kernels for one compute type E: `void*` points to E (float or bf16 bits), sizes are element
/// counts, matrices are row-major. "operand" marks results that are rounded to E though they are
/// kept in fp32, because they are operands of a matrix product.
struct Elementwise {
  /// out[i] = in[i]
  void (*load)(const void* in, std::int64_t n, float* out);
  /// out[i] = in[i], rounded.
  void (*store)(const float* in, std::int64_t n, void* out);
  /// out[i] = a[i] + b[i], rounded.
  void (*add_store)(const float* a, const void* b, std::int64_t n, void* out);
  /// a[i] += b[i]
  void (*accumulate)(float* a, const void* b, std::int64_t n);
  /// x[i] rounded: operand.
  void (*round)(float* x, std::int64_t n);
  /// rstd[r] = 1 / sqrt(mean(x[r]^2) + eps), y = x * rstd * weight: operand.
  void (*rms_norm)(const float* x, std::int64_t rows, std::int64_t cols, const float* weight,
                   float eps, float* y, float* rstd);
  /// out = add + d(x) rounded, d_weight += sum over rows of dy * x * rstd; `add` may be null and
  /// may be `out`.
  void (*rms_norm_backward)(const float* dy, const float* x, std::int64_t rows, std::int64_t cols,
                            const float* weight, const float* rstd, const float* add,
                            float* d_weight, void* out);
  /// y = silu(gate) * up: operand.
  void (*swiglu)(const void* gate, const void* up, std::int64_t n, float* y);
  /// From dy in d_up: d_gate and d_up, operands.
  void (*swiglu_backward)(const void* gate, const void* up, std::int64_t n, float* d_gate,
                          float* d_up);
  /// One head of one token: norm (rstd is written), then rotation: operand.
  void (*rotary)(const void* x, std::int64_t head_dim, const RotaryRow& row, float* rstd, float* y);
  /// dy becomes d(x), an operand; d_norm += the norm weight's gradient.
  void (*rotary_backward)(const void* x, std::int64_t head_dim, const RotaryRow& row, float rstd,
                          float* d_norm, float* dy);
  /// sum a[i] * b[i]
  float (*dot)(const float* a, const void* b, std::int64_t n);
  /// Cross-entropy of one token; logits become scale * (softmax - onehot): operand. If `scale` is
  /// zero the logits stay.
  float (*cross_entropy)(float* logits, std::int64_t vocab, std::int64_t target, float scale);
};

/// Kernels on fp32 and on weights, whatever the compute type.
struct PlainKernels {
  /// out[i] = the master weight; `low` null: the high half alone.
  void (*join)(const std::uint16_t* high, const std::uint16_t* low, std::int64_t n, float* out);
  /// y[r][c] += bias[c]
  void (*add_bias)(float* y, std::int64_t rows, std::int64_t cols, const float* bias);
  /// sums[c] += sum over r of y[r][c], in row order.
  void (*column_sums)(const float* y, std::int64_t rows, std::int64_t cols, float* sums);
  /// scores[i] = softmax over [begin, end) of scale * score, zero elsewhere in [0, n); the
  /// log-sum-exp of the scaled scores.
  float (*softmax)(float* scores, std::int64_t n, std::int64_t begin, std::int64_t end,
                   float scale);
  /// The same probabilities from the log-sum-exp.
  void (*probabilities)(float* scores, std::int64_t n, std::int64_t begin, std::int64_t end,
                        float scale, float lse);
  /// d[i] = p[i] * (d[i] - delta) * scale
  void (*softmax_backward)(const float* p, std::int64_t n, float delta, float scale, float* d);
  /// a[i] += b[i]
  void (*add)(float* a, const float* b, std::int64_t n);
  double (*sum_squares)(const float* x, std::int64_t n);
  /// out[i] = bf16 of in[i], to nearest even; may be in place.
  void (*to_bf16)(const float* in, std::int64_t n, std::uint16_t* out);
  /// out[i] = e^in[i], relative error below 2.5e-7 on [-87, 88]; below, 1.2e-38.
  void (*exponential)(const float* in, std::int64_t n, float* out);
};

struct ElementwisePath {
  std::string_view name;  ///< "avx512", "avx2", "portable"
  bool supported;         ///< By this processor.
  const Elementwise* fp32;
  const Elementwise* bf16;
  const PlainKernels* plain;
};

[[nodiscard]] std::span<const ElementwisePath> elementwise_paths();  ///< Fastest first.
/// Of the fastest path this processor supports.
[[nodiscard]] const Elementwise& elementwise(planner::ComputeType compute);
[[nodiscard]] const PlainKernels& plain_kernels();

}  // namespace sluice::engine
