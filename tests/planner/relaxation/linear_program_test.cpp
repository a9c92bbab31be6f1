#include "planner/relaxation/linear_program.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace sluice::planner {
namespace {

TEST(LinearProgram, TwoLimitsMeetAtACorner) {
  // max x + y, 2x + y <= 4, x + 3y <= 6: x = 1.2, y = 1.6.
  const auto found = minimize({{-1, -1}, {{{2, 1}, 4}, {{1, 3}, 6}}});
  ASSERT_TRUE(found.feasible);
  EXPECT_NEAR(found.values[0], 1.2, 1e-9);
  EXPECT_NEAR(found.values[1], 1.6, 1e-9);
  EXPECT_NEAR(found.cost, -2.8, 1e-9);
  // One more of the first limit: -(x + y) falls by 0.4; of the second by 0.2.
  EXPECT_NEAR(found.prices[0], 0.4, 1e-9);
  EXPECT_NEAR(found.prices[1], 0.2, 1e-9);
}

TEST(LinearProgram, EqualitiesAndNegativeLimits) {
  // min x + 2y, x + y = 3, x <= 2, -y <= -0.5.
  const auto found = minimize({{1, 2}, {{{1, 1}, 3, true}, {{1, 0}, 2}, {{0, -1}, -0.5}}});
  ASSERT_TRUE(found.feasible);
  EXPECT_NEAR(found.cost, 4, 1e-9);
  EXPECT_NEAR(found.values[0], 2, 1e-9);
}

TEST(LinearProgram, SaysWhereNothingSatisfiesTheRows) {
  const auto found = minimize({{1}, {{{1}, 1}, {{-1}, -2}}});
  ASSERT_FALSE(found.feasible);
  // p A = 0 and p b < 0: no x has A x <= b.
  EXPECT_GT(found.prices[0], 0);
  EXPECT_NEAR(found.prices[0] - found.prices[1], 0, 1e-9);
}

/// Coefficients from 1e-7 to 1e5 around a point that satisfies all constraints, as those of
/// seconds, shares and gigabytes side by side have them.
LinearProgram feasible_program(std::mt19937& random, std::vector<double>& point) {
  std::uniform_real_distribution<double> unit(0, 1), size(-7, 5);
  const std::size_t variables = 30, rows = 40;
  LinearProgram program;
  point.clear();
  std::vector<double> sizes;
  for (std::size_t i = 0; i < variables; ++i) {
    sizes.push_back(std::pow(10, size(random)));
    point.push_back(unit(random) < 0.4 ? unit(random) / sizes.back() : 0);
    program.cost.push_back(sizes.back() * unit(random));
  }
  for (std::size_t r = 0; r < rows; ++r) {
    LinearProgram::Constraint row;
    row.equal = r % 10 == 0;
    double sum = 0;
    for (std::size_t i = 0; i < variables; ++i) {
      const double value = unit(random) < 0.5 ? 0 : sizes[i] * (unit(random) - 0.5);
      row.coefficients.push_back(value);
      sum += value * point[i];
    }
    row.limit = row.equal || unit(random) < 0.3 ? sum : sum + unit(random);
    program.constraints.push_back(row);
  }
  return program;
}

TEST(LinearProgram, FindsWhatSatisfiesRowsOfManySizes) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<double> point;
    const LinearProgram program = feasible_program(random, point);
    const auto found = minimize(program);
    ASSERT_TRUE(found.feasible) << trial;
    double cost = 0;
    for (std::size_t i = 0; i < point.size(); ++i) {
      ASSERT_GE(found.values[i], 0) << trial;
      cost += program.cost[i] * point[i];
    }
    EXPECT_LE(found.cost, cost + 1e-6) << trial;
    for (const LinearProgram::Constraint& row : program.constraints) {
      double sum = 0, sizes = 0;
      for (std::size_t i = 0; i < point.size(); ++i) {
        sum += row.coefficients[i] * found.values[i];
        sizes += std::abs(row.coefficients[i] * found.values[i]);
      }
      EXPECT_LE(sum, row.limit + 1e-6 * (1 + sizes)) << trial;
      if (row.equal) {
        EXPECT_GE(sum, row.limit - 1e-6 * (1 + sizes)) << trial;
      }
    }
  }
}

// Rows and variables in units far apart, all limits met at one point that is known.
TEST(LinearProgram, HoldsItsRowsWhateverTheirUnits) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> unit(-1, 1);
  const auto power = [&](double most) { return std::pow(10, most * unit(random)); };
  constexpr std::size_t kVariables = 20, kRows = 40;
  for (int trial = 0; trial < 300; ++trial) {
    LinearProgram program;
    std::vector<double> point, units;
    for (std::size_t i = 0; i < kVariables; ++i) {
      units.push_back(power(5));
      point.push_back(std::max(0.0, unit(random)) / units[i]);
      program.cost.push_back((1 + unit(random)) * units[i]);
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      LinearProgram::Constraint row;
      const double scale = power(5);
      for (std::size_t i = 0; i < kVariables; ++i) {
        row.coefficients.push_back(r % 3 == i % 3 ? scale * units[i] * unit(random) : 0);
        row.limit += row.coefficients[i] * point[i];
      }
      row.equal = r % 8 == 0;
      if (!row.equal && r % 5 != 0) row.limit += scale * std::max(0.0, unit(random));
      program.constraints.push_back(row);
    }
    const auto found = minimize(program);
    ASSERT_TRUE(found.feasible) << trial;
    for (std::size_t i = 0; i < kVariables; ++i) EXPECT_GE(found.values[i] * units[i], -1e-5);
    for (const LinearProgram::Constraint& row : program.constraints) {
      double sum = 0, size = std::abs(row.limit);
      for (std::size_t i = 0; i < kVariables; ++i) {
        sum += row.coefficients[i] * found.values[i];
        size = std::max(size, std::abs(row.coefficients[i] * found.values[i]));
        size = std::max(size, std::abs(row.coefficients[i]));
      }
      EXPECT_LE(sum - row.limit, 1e-5 * size) << trial;
      EXPECT_GE(sum - row.limit, row.equal ? -1e-5 * size : -INFINITY) << trial;
    }
  }
}

}  // namespace
}  // namespace sluice::planner
