// Quantization of matrices to FP8, block-scaled (E4M3) or with one scale (E4M3 or E5M2), as
// operands of matrix products that sum over rows or over columns. docs/design/fp8.md has the
// numerics; contracts as in engine/cuda/kernels/norm.hpp.
#pragma once

#include <cstdint>

#include "engine/cuda/kernels/activation.hpp"
#include "engine/cuda/kernels/launch.hpp"
#include "planner/models/block.hpp"

struct CUstream_st;

namespace sluice::engine::cuda {

/// Number of scales of a vector of `rows` rows as a matrix product takes them: the next multiple of
/// 4.
[[nodiscard]] constexpr std::int64_t scale_stride(std::int64_t rows) {
  return ceil_div(rows, 4) * 4;
}

/// A matrix in FP8 with its scales.
struct Quantized {
  std::uint8_t* values = nullptr;  ///< Null where this form is not wanted.
  float* scales = nullptr;
  /// Whether the first of `scales` is the scale of all numbers. The second is scratch then. Both
  /// forms of a matrix are alike in this.
  bool tensorwise = false;
};

/// Format of numbers that share one scale; block-scaled ones are E4M3.
enum class Fp8Format { e4m3, e5m2 };

/// Quantized forms of a matrix x [rows, cols] for products that sum over its columns and over its
/// rows.
struct QuantizedForms {
  /// Form for sums over columns: values [rows, cols]; scales [ceil(cols / 128),
  /// scale_stride(rows)], one for 128 columns of a row.
  Quantized along = {};
  /// Form for sums over rows: values [cols, rows], transposed; scales [ceil(rows / 128),
  /// scale_stride(cols)], one for 128 rows of a column.
  Quantized across = {};
};

/// Quantizes x, bf16 [rows, cols] with `stride` elements from row to row, to the forms that are
/// wanted. `cols` and `stride` are multiples of 8; with `across`, `rows` is a multiple of 16. With
/// one scale, x is read once more before, for its largest magnitude.
void quantize(CUstream_st* stream, const std::uint16_t* x, std::int64_t rows, std::int64_t cols,
              std::int64_t stride, const QuantizedForms& forms, Fp8Format format = Fp8Format::e4m3);

/// Quantizes a weight, bf16 [rows, cols], with one scale for every 128 x 128 block, or with one in
/// all (E4M3): `along` has values [rows, cols] and scales [ceil(rows / 128), scale_stride(ceil(cols
/// / 128))]; `across` those of the transposed weight. Sizes as for quantize().
void quantize_weight(CUstream_st* stream, const std::uint16_t* weight, std::int64_t rows,
                     std::int64_t cols, const QuantizedForms& forms);

/// Quantizes the activation of gate and up (activation.hpp), rounded to bf16 before, without
/// storing it: `gate_up` has rows [gate up] of `stride` elements, or up alone where the activation
/// has no gate.
void quantize_activation(CUstream_st* stream, planner::Activation function,
                         const std::uint16_t* gate_up, std::int64_t rows, std::int64_t width,
                         std::int64_t stride, const QuantizedForms& forms);

/// Backward pass of `activate` (activation.hpp), whose results are rounded to bf16 and then
/// quantized without being stored: `gradients` of rows [d_gate d_up], or d_up alone where the
/// activation has no gate, in both forms, and the activation itself in the form for sums over rows.
/// `d_activation` is bf16 [rows, width]; rows are a multiple of 16, width of 128. Results may not
/// be where operands are. With one scale the gradients are E5M2, and all is computed once before,
/// for the largest magnitudes; the gradients' form along rows is wanted.
void quantize_activation_backward(CUstream_st* stream, planner::Activation function,
                                  const GateUp& in, const std::uint16_t* d_activation,
                                  std::int64_t rows, std::int64_t width,
                                  const QuantizedForms& gradients, const Quantized& activation);

}  // namespace sluice::engine::cuda
