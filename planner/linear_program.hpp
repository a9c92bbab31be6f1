// Small linear programs: minimize c x subject to A x <= b and E x = d, x >= 0.
#pragma once

#include <optional>
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
  std::vector<double> values;
  /// One a row: by how much the least cost falls per unit of the row's limit (at least 0 for a row
  /// that is an upper limit). What rests on them should check them by weak duality: rounding makes
  /// them inexact, never that check.
  std::vector<double> prices;
  double cost = 0;
};

/// Two-phase simplex on a dense tableau (Dantzig's rule, Bland's against cycling): for tens of rows
/// and variables. None where nothing satisfies the rows; costs are taken to be bounded below.
[[nodiscard]] std::optional<LinearSolution> minimize(const LinearProgram& program);

}  // namespace sluice::planner
