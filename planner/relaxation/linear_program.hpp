// Small linear programs: minimize c x subject to A x <= b and E x = d, x >= 0. Exact answers come
// with prices that a caller can check.
#pragma once

#include <vector>

namespace sluice::planner {

/// A linear program: minimize the sum of cost_i x_i over x >= 0 that satisfy all constraints.
struct LinearProgram {
  /// One constraint: the sum of coefficients_i x_i is at most `limit`, or equal to it.
  struct Constraint {
    std::vector<double> coefficients;  ///< Coefficients of all variables, in their order.
    double limit = 0;
    /// Whether the sum must equal `limit`; otherwise it must be at most `limit`.
    bool equal = false;
  };
  std::vector<double> cost;
  std::vector<Constraint> constraints;
};

/// Result of minimize(): the variables of least cost with the constraints' prices, or the proof
/// that no variables satisfy the constraints.
struct LinearSolution {
  /// Whether any x satisfies the constraints, as far as rounding lets one see. If not, `values` is
  /// empty, and `prices` (at least 0 for upper limits) prove it: the constraints' sum at these
  /// prices is above that of their limits for every x.
  bool feasible = true;
  std::vector<double> values;  ///< The variables x of least cost.
  /// Price of each constraint: by how much the least cost falls per unit by which its limit rises
  /// (at least 0 for an upper limit). Rounding makes prices inexact, so a bound that rests on them
  /// should be computed anew by weak duality.
  std::vector<double> prices;
  double cost = 0;  ///< The least cost; 0 where the program is infeasible.
};

/// Solves the program by the two-phase simplex on a dense tableau (Dantzig's rule, Bland's against
/// cycling; of near ties the largest pivot), for tens of constraints and variables. Costs must be
/// bounded below. A program whose solution does not satisfy the constraints, or whose refutation
/// does not hold beyond rounding, is solved again with constraints and variables scaled by powers
/// of two until coefficients are of one size.
[[nodiscard]] LinearSolution minimize(const LinearProgram& program);

}  // namespace sluice::planner
