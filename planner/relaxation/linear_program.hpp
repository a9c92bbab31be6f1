// Small linear programs: minimize c x subject to A x <= b and E x = d, x >= 0.
#pragma once

#include <vector>

namespace sluice::planner {

struct LinearProgram {
  struct Row {
    std::vector<double> coefficients;  ///< One a variable.
    double limit = 0;
    bool equal = false;  ///< Otherwise: at most.
  };
  std::vector<double> cost;
  std::vector<Row> rows;
};

struct LinearSolution {
  /// Otherwise nothing satisfies the rows, as far as rounding lets one see: there are no values,
  /// and at its prices (at least 0 for upper limits) the rows' sum is above its limits' whatever x
  /// is.
  bool feasible = true;
  std::vector<double> values;
  /// One a row: by how much the least cost falls per unit of the row's limit (at least 0 for a row
  /// that is an upper limit). What rests on them should check them by weak duality: rounding makes
  /// them inexact, never that check.
  std::vector<double> prices;
  double cost = 0;
};

/// Two-phase simplex on a dense tableau (Dantzig's rule, Bland's against cycling; of near ties the
/// largest pivot), for tens of rows and variables. Costs are taken to be bounded below. What comes
/// out infeasible, or does not satisfy the rows, is solved again with rows and columns divided by
/// powers of two until coefficients are of one size.
[[nodiscard]] LinearSolution minimize(const LinearProgram& program);

}  // namespace sluice::planner
