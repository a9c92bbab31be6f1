#include "planner/relaxation/linear_program.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace sluice::planner {
namespace {

constexpr double kTiny = 1e-10;
/// Smallest pivot, and slack of the ratio test, for coefficients near one.
constexpr double kLeastPivot = 1e-9, kSlack = 1e-9;
/// Columns for each that is not 0 from which on a row's zeros are skipped.
constexpr std::size_t kSparse = 3;
/// Pivots before Bland's rule takes over, and the most in all.
constexpr int kQuickPivots = 400, kMostPivots = 4000;

/// The simplex tableau, with a row for each constraint. Its columns are the variables, a slack and
/// an artificial for each row, and the limit.
template <class Real>
class Tableau {
 public:
  explicit Tableau(const LinearProgram& program)
      : program_(program), variables_(program.cost.size()), count_(program.constraints.size()) {
    width_ = variables_ + 2 * count_ + 1;
    cells_.assign((count_ + 1) * width_, 0);
    for (std::size_t row = 0; row < count_; ++row) {
      const LinearProgram::Constraint& from = program.constraints[row];
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
      started_.push_back(from.equal || from.limit < 0);
      basis_.push_back(started_.back() ? artificial(row) : variables_ + row);
    }
  }

  LinearSolution solve() {
    for (std::size_t column = 0; column < width_; ++column) {
      Real sum = 0;
      for (std::size_t row = 0; row < count_; ++row) {
        if (basis_[row] == artificial(row)) sum -= at(row, column);
      }
      objective(column) = column >= artificial(0) && column + 1 < width_ ? 0 : sum;
    }
    pivot_until_least(Phase::feasible);
    if (-objective(width_ - 1) > 1e-7) return refutation();
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
    pivot_until_least(Phase::least_cost);
    return solution();
  }

 private:
  enum class Phase { feasible, least_cost };

  Real& at(std::size_t row, std::size_t column) { return cells_[row * width_ + column]; }
  Real& objective(std::size_t column) { return cells_[count_ * width_ + column]; }
  [[nodiscard]] std::size_t artificial(std::size_t row) const { return variables_ + count_ + row; }

  void pivot_until_least(Phase phase) {
    for (int pivots = 0; pivots < kMostPivots; ++pivots) {
      std::size_t entering = width_;
      Real least = -kTiny;
      for (std::size_t column = 0; column < artificial(0); ++column) {
        if (objective(column) >= least) continue;
        entering = column;
        if (pivots >= kQuickPivots) break;
        least = objective(column);
      }
      if (entering == width_) return;
      std::size_t leaving = phase == Phase::least_cost ? artificial_row(entering) : count_;
      if (leaving == count_) leaving = leaving_row(entering, pivots >= kQuickPivots);
      if (leaving == count_) return;
      pivot(leaving, entering);
    }
  }

  /// The row of the largest pivot among artificials that are still basic once all are 0: they leave
  /// first, for they would grow with `entering`.
  std::size_t artificial_row(std::size_t entering) {
    std::size_t leaving = count_;
    Real most = kLeastPivot;
    for (std::size_t row = 0; row < count_; ++row) {
      if (basis_[row] < artificial(0) || std::abs(at(row, entering)) <= most) continue;
      most = std::abs(at(row, entering));
      leaving = row;
    }
    return leaving;
  }

  /// The row with the largest pivot among those that limit `entering`, for division by a tiny pivot
  /// drowns in rounding (Harris' test); against cycles, the row of the least variable.
  std::size_t leaving_row(std::size_t entering, bool by_index) {
    Real least = std::numeric_limits<Real>::infinity();
    for (std::size_t row = 0; row < count_; ++row) {
      if (at(row, entering) <= kLeastPivot) continue;
      least = std::min(least, (at(row, width_ - 1) + Real(kSlack)) / at(row, entering));
    }
    std::size_t leaving = count_;
    for (std::size_t row = 0; row < count_; ++row) {
      const Real here = at(row, entering);
      if (here <= kLeastPivot || at(row, width_ - 1) / here > least) continue;
      const bool better = leaving < count_ &&
                          (by_index ? basis_[row] < basis_[leaving] : here > at(leaving, entering));
      if (leaving == count_ || better) leaving = row;
    }
    return leaving;
  }

  void pivot(std::size_t leaving, std::size_t entering) {
    const Real by = at(leaving, entering);
    filled_.clear();
    for (std::size_t column = 0; column < width_; ++column) {
      at(leaving, column) /= by;
      if (at(leaving, column) != 0) filled_.push_back(column);
    }
    const Real* from = &at(leaving, 0);
    for (std::size_t row = 0; row <= count_; ++row) {
      if (row == leaving) continue;
      Real* to = &at(row, 0);
      const Real factor = to[entering];
      if (factor == 0) continue;
      // Zeros of the row that leaves change nothing.
      if (filled_.size() * kSparse < width_) {
        for (const std::size_t column : filled_) to[column] -= factor * from[column];
      } else {
        for (std::size_t column = 0; column < width_; ++column) to[column] -= factor * from[column];
      }
      to[entering] = 0;
      // The slack of the ratio test let it fall below zero.
      if (row < count_ && at(row, width_ - 1) < 0 && at(row, width_ - 1) > -2 * kSlack) {
        at(row, width_ - 1) = 0;
      }
    }
    basis_[leaving] = entering;
  }

  LinearSolution refutation() {
    LinearSolution found;
    found.feasible = false;
    for (std::size_t row = 0; row < count_; ++row) {
      // Each artificial that was basic costs one.
      const double cost = started_[row] ? 1 : 0;
      found.prices.push_back((static_cast<double>(objective(artificial(row))) - cost) *
                             scales_[row]);
    }
    return found;
  }

  LinearSolution solution() {
    LinearSolution found;
    found.values.assign(variables_, 0);
    for (std::size_t row = 0; row < count_; ++row) {
      if (basis_[row] < variables_)
        found.values[basis_[row]] = std::max(0.0, static_cast<double>(at(row, width_ - 1)));
    }
    for (std::size_t i = 0; i < variables_; ++i) found.cost += program_.cost[i] * found.values[i];
    for (std::size_t row = 0; row < count_; ++row) {
      found.prices.push_back(static_cast<double>(objective(artificial(row))) * scales_[row]);
    }
    return found;
  }

  const LinearProgram& program_;
  std::size_t variables_, count_, width_ = 0;
  std::vector<Real> cells_;
  std::vector<std::size_t> basis_;
  std::vector<std::size_t> filled_;  ///< Columns in which the row that leaves is not 0.
  std::vector<double> scales_;
  std::vector<bool> started_;  ///< With its artificial in the basis.
};

/// Smallest and largest absolute value of numbers that are not zero.
struct Sizes {
  double least = std::numeric_limits<double>::infinity(), most = 0;

  void add(double value) {
    if (value == 0) return;
    least = std::min(least, std::abs(value));
    most = std::max(most, std::abs(value));
  }
  /// The power of two nearest to their geometric mean, so that dividing by it rounds nothing.
  [[nodiscard]] double middle() const {
    return most > 0 ? std::exp2(std::round((std::log2(least) + std::log2(most)) / 2)) : 1;
  }
};

/// Relative size below which a sum counts as rounding.
constexpr double kNear = 1e-6;

/// Whether the values satisfy the constraints, up to rounding.
bool satisfies(const LinearProgram& program, const std::vector<double>& values) {
  for (const LinearProgram::Constraint& row : program.constraints) {
    double sum = 0, size = std::abs(row.limit);
    for (std::size_t i = 0; i < values.size(); ++i) {
      sum += row.coefficients[i] * values[i];
      size += std::abs(row.coefficients[i] * values[i]);
    }
    const double over = sum - row.limit;
    if ((row.equal ? std::abs(over) : over) > kNear * size) return false;
  }
  return true;
}

/// Whether the prices prove, by more than rounding, that no variables satisfy the constraints.
bool refutes(const LinearProgram& program, const std::vector<double>& prices) {
  double limits = 0, size = 0;
  std::vector<double> sums(program.cost.size(), 0), sizes(program.cost.size(), 0);
  for (std::size_t row = 0; row < prices.size(); ++row) {
    const LinearProgram::Constraint& each = program.constraints[row];
    if (!each.equal && prices[row] < 0) return false;
    limits += prices[row] * each.limit;
    size += std::abs(prices[row] * each.limit);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i] += prices[row] * each.coefficients[i];
      sizes[i] += std::abs(prices[row] * each.coefficients[i]);
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i] < -kTiny * sizes[i]) return false;
  }
  return limits < -kNear * size;
}

LinearSolution minimize_balanced(LinearProgram program) {
  std::vector<double> rows(program.constraints.size(), 1), columns(program.cost.size(), 1);
  constexpr int kPasses = 4;
  for (int pass = 0; pass < kPasses; ++pass) {
    for (std::size_t row = 0; row < rows.size(); ++row) {
      Sizes sizes;
      for (const double each : program.constraints[row].coefficients) sizes.add(each);
      const double by = sizes.middle();
      for (double& each : program.constraints[row].coefficients) each /= by;
      program.constraints[row].limit /= by;
      rows[row] *= by;
    }
    for (std::size_t i = 0; i < columns.size(); ++i) {
      Sizes sizes;
      for (const LinearProgram::Constraint& row : program.constraints)
        sizes.add(row.coefficients[i]);
      const double by = sizes.middle();
      for (LinearProgram::Constraint& row : program.constraints) row.coefficients[i] /= by;
      program.cost[i] /= by;
      columns[i] *= by;
    }
  }
  LinearSolution found = Tableau<long double>(program).solve();
  for (std::size_t i = 0; i < found.values.size(); ++i) found.values[i] /= columns[i];
  for (std::size_t row = 0; row < rows.size(); ++row) found.prices[row] /= rows[row];
  return found;
}

}  // namespace

LinearSolution minimize(const LinearProgram& program) {
  LinearSolution found = Tableau<double>(program).solve();
  if (found.feasible ? satisfies(program, found.values) : refutes(program, found.prices)) {
    return found;
  }
  return minimize_balanced(program);
}

}  // namespace sluice::planner
