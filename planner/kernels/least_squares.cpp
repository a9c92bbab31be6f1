#include <cmath>
#include <limits>

#include "planner/kernels/cholesky.hpp"
#include "planner/kernels/fit.hpp"

namespace sluice::planner {
namespace {

using Vector = std::vector<double>;

class Problem {
 public:
  Problem(const std::function<void(const Vector&, Vector&)>& residuals, Vector start, double scale,
          double pull)
      : residuals_(residuals), start_(std::move(start)), scale_(scale), pull_(pull) {}

  double cost(const Vector& x, Vector& r) const {
    residuals_(x, r);
    double sum = 0;
    for (const double value : r) sum += scale_ * scale_ * std::log1p(std::pow(value / scale_, 2));
    for (std::size_t p = 0; p < x.size(); ++p) sum += std::pow(pull_ * (x[p] - start_[p]), 2);
    return std::isfinite(sum) ? sum : std::numeric_limits<double>::infinity();
  }

  /// Builds the normal equations at `x`, where the residuals are `r`.
  void linearise(const Vector& x, const Vector& r, Vector& matrix, Vector& right) const {
    constexpr double kStep = 1e-4;
    const std::size_t n = x.size();
    std::vector<Vector> columns(n);
    Vector moved = x;
    for (std::size_t p = 0; p < n; ++p) {
      moved[p] = x[p] + kStep;
      residuals_(moved, columns[p]);
      moved[p] = x[p];
      for (std::size_t i = 0; i < r.size(); ++i) columns[p][i] = (columns[p][i] - r[i]) / kStep;
    }
    matrix.assign(n * n, 0);
    right.assign(n, 0);
    for (std::size_t i = 0; i < r.size(); ++i) {
      const double weight = 1 / (1 + std::pow(r[i] / scale_, 2));
      for (std::size_t p = 0; p < n; ++p) {
        const double scaled = weight * columns[p][i];
        right[p] -= scaled * r[i];
        for (std::size_t o = 0; o <= p; ++o) matrix[p * n + o] += scaled * columns[o][i];
      }
    }
    for (std::size_t p = 0; p < n; ++p) {
      matrix[p * n + p] += pull_ * pull_;
      right[p] -= pull_ * pull_ * (x[p] - start_[p]);
    }
  }

 private:
  const std::function<void(const Vector&, Vector&)>& residuals_;
  Vector start_;
  double scale_, pull_;
};

}  // namespace

std::vector<double> least_squares(const std::function<void(const Vector&, Vector&)>& residuals,
                                  Vector start, double scale, double pull, int iterations,
                                  double* final_cost) {
  constexpr double kLongestStep = 1;  // In logarithms: a constant changes by e at most.
  const Problem problem(residuals, start, scale, pull);
  Vector x = std::move(start);
  Vector r, tried_r, matrix, right;
  double cost = problem.cost(x, r);
  double damping = 1e-2;
  for (int iteration = 0; iteration < iterations; ++iteration) {
    problem.linearise(x, r, matrix, right);
    bool improved = false;
    const double before = cost;
    for (int attempt = 0; attempt < 6 && !improved; ++attempt) {
      Vector damped = matrix;
      for (std::size_t p = 0; p < x.size(); ++p) damped[p * x.size() + p] *= 1 + damping;
      if (const auto factor = Cholesky::of(std::move(damped), x.size())) {
        const Vector step = factor->solve(right);
        Vector tried = x;
        for (std::size_t p = 0; p < x.size(); ++p) {
          tried[p] += std::fmin(std::fmax(step[p], -kLongestStep), kLongestStep);
        }
        const double tried_cost = problem.cost(tried, tried_r);
        if (tried_cost < cost) {
          x = std::move(tried);
          r = tried_r;
          cost = tried_cost;
          improved = true;
        }
      }
      damping *= improved ? 0.3 : 4;
    }
    if (!improved || before - cost < 1e-5 * before) break;
  }
  if (final_cost != nullptr) *final_cost = cost;
  return x;
}

}  // namespace sluice::planner
