#include "planner/linear_program.hpp"

#include <cmath>
#include <cstddef>
#include <limits>

namespace sluice::planner {
namespace {

constexpr double kTiny = 1e-10;
/// Pivots before Bland's rule takes over, and at all.
constexpr int kQuickPivots = 400, kMostPivots = 4000;

/// Columns: variables, a slack for each row that is a limit, an artificial for each row, the limit.
class Tableau {
 public:
  explicit Tableau(const LinearProgram& program)
      : program_(program), variables_(program.cost.size()), count_(program.rows.size()) {
    width_ = variables_ + 2 * count_ + 1;
    cells_.assign((count_ + 1) * width_, 0);
    for (std::size_t row = 0; row < count_; ++row) {
      const LinearProgram::Row& from = program.rows[row];
      double scale = std::abs(from.limit);
      for (const double each : from.coefficients) scale = std::max(scale, std::abs(each));
      if (scale == 0) scale = 1;
      const double sign = (from.limit < 0 ? -1 : 1) / scale;
      scales_.push_back(sign);
      for (std::size_t i = 0; i < variables_; ++i) at(row, i) = sign * from.coefficients[i];
      if (!from.equal) at(row, variables_ + row) = sign * scale;
      at(row, artificial(row)) = 1;
      at(row, width_ - 1) = sign * from.limit;
      // A slack that may be basic saves an artificial.
      basis_.push_back(!from.equal && from.limit >= 0 ? variables_ + row : artificial(row));
    }
  }

  std::optional<LinearSolution> solve() {
    for (std::size_t column = 0; column < width_; ++column) {
      double sum = 0;
      for (std::size_t row = 0; row < count_; ++row) {
        if (basis_[row] == artificial(row)) sum -= at(row, column);
      }
      objective(column) = column >= artificial(0) && column + 1 < width_ ? 0 : sum;
    }
    pivot_until_least();
    if (-objective(width_ - 1) > 1e-7) return std::nullopt;
    for (std::size_t column = 0; column < width_; ++column) {
      objective(column) = column < variables_ ? program_.cost[column] : 0;
    }
    for (std::size_t row = 0; row < count_; ++row) {
      const double price = basis_[row] < variables_ ? program_.cost[basis_[row]] : 0;
      if (price == 0) continue;
      for (std::size_t column = 0; column < width_; ++column) {
        objective(column) -= price * at(row, column);
      }
    }
    pivot_until_least();
    return solution();
  }

 private:
  double& at(std::size_t row, std::size_t column) { return cells_[row * width_ + column]; }
  double& objective(std::size_t column) { return cells_[count_ * width_ + column]; }
  [[nodiscard]] std::size_t artificial(std::size_t row) const { return variables_ + count_ + row; }

  void pivot_until_least() {
    for (int pivots = 0; pivots < kMostPivots; ++pivots) {
      std::size_t entering = width_;
      double least = -kTiny;
      for (std::size_t column = 0; column < artificial(0); ++column) {
        if (objective(column) >= least) continue;
        entering = column;
        if (pivots >= kQuickPivots) break;
        least = objective(column);
      }
      if (entering == width_) return;
      std::size_t leaving = count_;
      double ratio = std::numeric_limits<double>::infinity();
      for (std::size_t row = 0; row < count_; ++row) {
        if (at(row, entering) <= kTiny) continue;
        const double here = at(row, width_ - 1) / at(row, entering);
        if (here < ratio - kTiny || (here < ratio + kTiny && basis_[row] < basis_[leaving])) {
          ratio = here;
          leaving = row;
        }
      }
      if (leaving == count_) return;
      pivot(leaving, entering);
    }
  }

  void pivot(std::size_t leaving, std::size_t entering) {
    const double by = at(leaving, entering);
    for (std::size_t column = 0; column < width_; ++column) at(leaving, column) /= by;
    for (std::size_t row = 0; row <= count_; ++row) {
      if (row == leaving) continue;
      const double factor = cells_[row * width_ + entering];
      if (factor == 0) continue;
      for (std::size_t column = 0; column < width_; ++column) {
        cells_[row * width_ + column] -= factor * at(leaving, column);
      }
    }
    basis_[leaving] = entering;
  }

  LinearSolution solution() {
    LinearSolution found;
    found.values.assign(variables_, 0);
    for (std::size_t row = 0; row < count_; ++row) {
      if (basis_[row] < variables_) found.values[basis_[row]] = at(row, width_ - 1);
    }
    for (std::size_t i = 0; i < variables_; ++i) found.cost += program_.cost[i] * found.values[i];
    for (std::size_t row = 0; row < count_; ++row) {
      found.prices.push_back(objective(artificial(row)) * scales_[row]);
    }
    return found;
  }

  const LinearProgram& program_;
  std::size_t variables_, count_, width_ = 0;
  std::vector<double> cells_;
  std::vector<std::size_t> basis_;
  std::vector<double> scales_;
};

}  // namespace

std::optional<LinearSolution> minimize(const LinearProgram& program) {
  return Tableau(program).solve();
}

}  // namespace sluice::planner
