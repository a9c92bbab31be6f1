#include "engine/host/gemm.hpp"

#include <cblas.h>

#include <algorithm>

#include "planner/scratch/workspace.hpp"

namespace sluice::engine {
namespace {

blasint size(std::int64_t n) { return static_cast<blasint>(n); }

}  // namespace

void product(std::int64_t m, std::int64_t n, std::int64_t k, Transpose transpose, MatrixView a,
             MatrixView b, Into into, MatrixView out) {
  cblas_sgemm(CblasRowMajor, transpose == Transpose::left ? CblasTrans : CblasNoTrans,
              transpose == Transpose::right ? CblasTrans : CblasNoTrans, size(m), size(n), size(k),
              1.0f, a.data, size(a.stride), b.data, size(b.stride),
              into == Into::accumulate ? 1.0f : 0.0f, out.data, size(out.stride));
}

void multiply(const float* x, std::int64_t n, const WeightMatrix& weight, float* panel, float* y) {
  const std::int64_t step = planner::panel_rows(weight.rows, weight.cols);
  for (std::int64_t row = 0; row < weight.rows; row += step) {
    const std::int64_t rows = std::min(step, weight.rows - row);
    const std::int64_t start = row * weight.cols;
    plain_kernels().join(weight.high + start, weight.low == nullptr ? nullptr : weight.low + start,
                         rows * weight.cols, panel);
    product(n, rows, weight.cols, Transpose::right, {const_cast<float*>(x), weight.cols},
            {panel, weight.cols}, Into::overwrite, {y + row, weight.rows});
  }
}

void multiply_transposed(const float* dy, std::int64_t n, const WeightMatrix& weight, float* panel,
                         Into into, float* dx) {
  const std::int64_t step = planner::panel_rows(weight.rows, weight.cols);
  for (std::int64_t row = 0; row < weight.rows; row += step) {
    const std::int64_t rows = std::min(step, weight.rows - row);
    const std::int64_t start = row * weight.cols;
    plain_kernels().join(weight.high + start, weight.low == nullptr ? nullptr : weight.low + start,
                         rows * weight.cols, panel);
    product(n, weight.cols, rows, Transpose::none, {const_cast<float*>(dy) + row, weight.rows},
            {panel, weight.cols}, row == 0 ? into : Into::accumulate, {dx, weight.cols});
  }
}

void accumulate_outer(const float* dy, const float* x, std::int64_t n, std::int64_t rows,
                      std::int64_t cols, float* gradient) {
  product(rows, cols, n, Transpose::left, {const_cast<float*>(dy), rows},
          {const_cast<float*>(x), cols}, Into::accumulate, {gradient, cols});
}

}  // namespace sluice::engine
