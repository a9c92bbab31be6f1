// Matrix products with weights that are two 16-bit planes: OpenBLAS sgemm on fp32 rows of a panel.
#pragma once

#include <cstdint>

#include "engine/host/elementwise.hpp"

namespace sluice::engine {

/// A weight matrix [rows, cols], row-major, on the device.
struct WeightMatrix {
  const std::uint16_t* high = nullptr;
  const std::uint16_t* low = nullptr;  ///< Null: the high halves alone.
  std::int64_t rows = 0, cols = 0;
};

/// y [n, rows] = x [n, cols] W^T. `panel` holds planner::panel_rows(rows, cols) * cols floats.
void multiply(const float* x, std::int64_t n, const WeightMatrix& weight, float* panel, float* y);

/// dx [n, cols] = (or, with accumulate, +=) dy [n, rows] W; panels in row order.
enum class Into { overwrite, accumulate };
void multiply_transposed(const float* dy, std::int64_t n, const WeightMatrix& weight, float* panel,
                         Into into, float* dx);

/// dW [rows, cols] += dy [n, rows]^T x [n, cols].
void accumulate_outer(const float* dy, const float* x, std::int64_t n, std::int64_t rows,
                      std::int64_t cols, float* gradient);

/// A strided row-major matrix.
struct MatrixView {
  float* data;
  std::int64_t stride;  ///< Elements between rows.
};
enum class Transpose { none, left, right };
/// out [m, n] = (beta 0) or += (beta 1) a b, with `a` or `b` transposed.
void product(std::int64_t m, std::int64_t n, std::int64_t k, Transpose transpose, MatrixView a,
             MatrixView b, Into into, MatrixView out);

}  // namespace sluice::engine
