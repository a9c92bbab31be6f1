// Solver for symmetric positive definite systems of equations.
#pragma once

#include <optional>
#include <vector>

namespace sluice::planner {

/// Cholesky factor L of a symmetric positive definite matrix A = L L^T.
class Cholesky {
 public:
  /// Factorizes the n x n matrix given row by row, of which only the lower triangle is read. None
  /// where it is not positive definite.
  [[nodiscard]] static std::optional<Cholesky> of(std::vector<double> matrix, std::size_t n);

  /// The solution x of A x = `right`; both have n numbers.
  [[nodiscard]] std::vector<double> solve(std::vector<double> right) const;
  /// Logarithm of the determinant of A.
  [[nodiscard]] double log_determinant() const;

 private:
  Cholesky(std::vector<double> factor, std::size_t n) : factor_(std::move(factor)), n_(n) {}

  std::vector<double> factor_;
  std::size_t n_;
};

}  // namespace sluice::planner
