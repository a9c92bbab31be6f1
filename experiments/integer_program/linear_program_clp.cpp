#include <ClpSimplex.hpp>
#include <CoinPackedMatrix.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>

#include "planner/relaxation/linear_program.hpp"

namespace sluice::planner {
namespace {

CoinPackedMatrix matrix_of(const LinearProgram& program) {
  std::vector<int> starts(1, 0), columns;
  std::vector<double> values;
  for (const LinearProgram::Constraint& row : program.constraints) {
    for (std::size_t i = 0; i < row.coefficients.size(); ++i) {
      if (row.coefficients[i] == 0) continue;
      columns.push_back(static_cast<int>(i));
      values.push_back(row.coefficients[i]);
    }
    starts.push_back(static_cast<int>(columns.size()));
  }
  return {false, static_cast<int>(program.cost.size()),
          static_cast<int>(program.constraints.size()), static_cast<int>(values.size()),
          values.data(), columns.data(), starts.data(), nullptr};
}

}  // namespace

LinearSolution minimize(const LinearProgram& program) {
  std::vector<double> lower, upper, none(program.cost.size(), 0),
      endless(program.cost.size(), COIN_DBL_MAX);
  for (const LinearProgram::Constraint& row : program.constraints) {
    lower.push_back(row.equal ? row.limit : -COIN_DBL_MAX);
    upper.push_back(row.limit);
  }
  ClpSimplex model;
  model.setLogLevel(0);
  model.loadProblem(matrix_of(program), none.data(), endless.data(), program.cost.data(),
                    lower.data(), upper.data());
  model.dual();
  LinearSolution found;
  found.feasible = model.status() != 1;
  const auto rows = program.constraints.size();
  if (!found.feasible) {
    const std::unique_ptr<double[]> ray(model.infeasibilityRay());
    found.prices.assign(rows, 0);
    if (!ray) return found;
    double limits = 0;
    for (std::size_t row = 0; row < rows; ++row) limits += ray[row] * program.constraints[row].limit;
    for (std::size_t row = 0; row < rows; ++row) found.prices[row] = limits > 0 ? -ray[row] : ray[row];
    return found;
  }
  found.cost = model.objectiveValue();
  const double* values = model.primalColumnSolution();
  found.values.assign(values, values + program.cost.size());
  for (double& each : found.values) each = std::max(0.0, each);
  for (std::size_t row = 0; row < rows; ++row) found.prices.push_back(-model.dualRowSolution()[row]);
  return found;
}

}  // namespace sluice::planner
