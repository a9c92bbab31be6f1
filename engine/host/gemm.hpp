// Matrix products with weights stored as two 16-bit planes: a panel of rows is converted to fp32
// for OpenBLAS's sgemm.
#pragma once

#include <cstdint>

#include "engine/host/elementwise.hpp"

namespace sluice::engine {

/// A weight matrix [rows, cols], row-major, on the device.
struct WeightMatrix {
  const std::uint16_t* high = nullptr;
  const std::uint16_t* low = nullptr;  ///< Null if the high halves alone are the weights.
  std::int64_t rows = 0, cols = 0;
};

/// y [n, rows] = x [n, cols] W^T, where W is `weight`. `panel` is scratch of
/// planner::panel_rows(rows, cols) * cols floats.
void multiply(const float* x, std::int64_t n, const WeightMatrix& weight, float* panel, float* y);

/// Whether a product overwrites its output or is added to it.
enum class Into { overwrite, accumulate };
void multiply_transposed(const float* dy, std::int64_t n, const WeightMatrix& weight, float* panel,
                         Into into, float* dx);

/// dW [rows, cols] += dy [n, rows]^T x [n, cols].
void accumulate_outer(const float* dy, const float* x, std::int64_t n, std::int64_t rows,
                      std::int64_t cols, float* gradient);

/// A row-major matrix whose rows are `stride` elements apart.
struct MatrixView {
  float* data;
  std::int64_t stride;  ///< Elements from one row to the next.
};
enum class Transpose { none, left, right };
/// out [m, n] = a b (Into::overwrite) or += a b (Into::accumulate), where a is [m, k] and b [k, n];
/// `transpose` says which of them is stored transposed.
void product(std::int64_t m, std::int64_t n, std::int64_t k, Transpose transpose, MatrixView a,
             MatrixView b, Into into, MatrixView out);

}  // namespace sluice::engine
