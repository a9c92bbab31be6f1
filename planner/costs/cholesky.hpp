// Symmetric positive definite systems.
#pragma once

#include <optional>
#include <vector>

namespace sluice::planner {

/// L of A = L L^T.
class Cholesky {
 public:
  /// `matrix`: n x n by rows, of which the lower triangle is read. Nothing where it is not positive
  /// definite.
  [[nodiscard]] static std::optional<Cholesky> of(std::vector<double> matrix, std::size_t n);

  /// x of A x = `right`, n numbers.
  [[nodiscard]] std::vector<double> solve(std::vector<double> right) const;
  /// Of det A.
  [[nodiscard]] double log_determinant() const;

 private:
  Cholesky(std::vector<double> factor, std::size_t n) : factor_(std::move(factor)), n_(n) {}

  std::vector<double> factor_;
  std::size_t n_;
};

}  // namespace sluice::planner
