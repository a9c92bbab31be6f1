// Small linear programs: minimize c x subject to A x <= b and E x = d, x >= 0.
#pragma once

#include <vector>

namespace sluice::planner {

struct LinearProgram {
  struct Constraint {
    std::vector<double> coefficients;  ///< One for each variable.
    double limit = 0;
    bool equal = false;  ///< Whether the sum equals `limit`; else it is at most that.
  };
  std::vector<double> cost;
  std::vector<Constraint> constraints;
};

struct LinearSolution {
  /// Whether anything satisfies the constraints, as far as rounding lets one see. If not there are
  /// no values, and at the prices (at least 0 for upper limits) the constraints' sum is above its
  /// limits' whatever x is.
  bool feasible = true;
  std::vector<double> values;
  /// Price of each constraint: the fall of the least cost per unit of its limit (at least 0 for an
  /// upper limit). What rests on them should check them by weak duality: rounding makes them
  /// inexact, never that check.
  std::vector<double> prices;
  double cost = 0;
};

/// Two-phase simplex on a dense tableau (Dantzig's rule, Bland's against cycling; of near ties the
/// largest pivot), for tens of constraints and variables. Costs are taken to be bounded below. What
/// comes out infeasible, or does not satisfy the constraints, is solved again with both divided by
/// powers of two until coefficients are of one size.
[[nodiscard]] LinearSolution minimize(const LinearProgram& program);

}  // namespace sluice::planner
