// The matrix products of a job, described by what decides their algorithm: the keys of the GEMM
// table.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "planner/models/job.hpp"
#include "sim/units.hpp"

namespace sluice::engine {

/// The three matrix products of a linear layer y = x W^T (+ bias) (+ addend), where x [T, in], W
/// [out, in] and y [T, out] are row-major bf16.
enum class GemmProduct {
  forward,         ///< y = x W^T (+ bias) (+ addend)
  input_gradient,  ///< d_x [T, in] = d_y W
  weight_gradient  ///< d_W [out, in] fp32 = d_y^T x (+ addend)
};
[[nodiscard]] const char* to_string(GemmProduct product);

/// What identifies a matrix product in the table of algorithms. Types, transposes and strides
/// follow from `product`; rows are packed.
struct GemmKey {
  GemmProduct product = GemmProduct::forward;
  std::int64_t tokens = 0, in = 0, out = 0;
  bool bias = false;  ///< Whether a bias [out] is added (epilogue).
  bool adds = false;  ///< Whether the product is added onto a matrix (beta = 1).
  /// Whether operands are FP8, else bf16: block-scaled E4M3 (docs/design/fp8.md), both stored with
  /// the dimension that the product sums over innermost.
  bool fp8 = false;
  /// Whether each FP8 operand has one scale; gradients of results are E5M2 then.
  bool tensorwise = false;
  friend auto operator<=>(const GemmKey&, const GemmKey&) = default;

  [[nodiscard]] Flops work() const {
    return Flops(2.0 * static_cast<double>(tokens) * static_cast<double>(in) *
                 static_cast<double>(out));
  }
};
/// Text of a product for messages and hashes: which, tokens x in x out, and what is added, such as
/// "forward 4096 x 3584 x 4608 with bias".
[[nodiscard]] std::string to_string(const GemmKey& key);

/// Numbers of elements of the three matrices of a product D = op(A) op(B), in cuBLAS's order.
struct GemmElements {
  std::int64_t a, b, d;
};
[[nodiscard]] GemmElements elements_of(const GemmKey& key);
[[nodiscard]] Bytes output_element(GemmProduct product);

/// Every matrix product that a step of `job` makes through cuBLASLt on a CUDA device, each once, in
/// ascending order. Weight gradients appear both overwriting and accumulating, whatever the number
/// of micro-batches. Products of experts are not among them.
[[nodiscard]] std::vector<GemmKey> gemm_keys(const planner::Job& job);

}  // namespace sluice::engine
