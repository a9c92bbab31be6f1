#include "planner/kernels/cholesky.hpp"

#include <cmath>

namespace sluice::planner {

std::optional<Cholesky> Cholesky::of(std::vector<double> matrix, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = j; i < n; ++i) {
      double sum = matrix[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= matrix[i * n + k] * matrix[j * n + k];
      if (i == j) {
        if (!(sum > 0)) return std::nullopt;
        matrix[j * n + j] = std::sqrt(sum);
      } else {
        matrix[i * n + j] = sum / matrix[j * n + j];
      }
    }
  }
  return Cholesky(std::move(matrix), n);
}

std::vector<double> Cholesky::solve(std::vector<double> right) const {
  for (std::size_t i = 0; i < n_; ++i) {
    for (std::size_t k = 0; k < i; ++k) right[i] -= factor_[i * n_ + k] * right[k];
    right[i] /= factor_[i * n_ + i];
  }
  for (std::size_t i = n_; i-- > 0;) {
    for (std::size_t k = i + 1; k < n_; ++k) right[i] -= factor_[k * n_ + i] * right[k];
    right[i] /= factor_[i * n_ + i];
  }
  return right;
}

double Cholesky::log_determinant() const {
  double sum = 0;
  for (std::size_t i = 0; i < n_; ++i) sum += 2 * std::log(factor_[i * n_ + i]);
  return sum;
}

}  // namespace sluice::planner
