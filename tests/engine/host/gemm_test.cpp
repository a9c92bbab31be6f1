#include "engine/host/gemm.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "engine/optimizer/master_weights.hpp"
#include "planner/scratch/workspace.hpp"

namespace sluice::engine {
namespace {

struct Matrices {
  std::int64_t n, rows, cols;
  std::vector<std::uint16_t> high, low;
  std::vector<float> weight, x, dy;

  Matrices(std::int64_t n, std::int64_t rows, std::int64_t cols) : n(n), rows(rows), cols(cols) {
    std::mt19937 random(3);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (std::int64_t i = 0; i < rows * cols; ++i) {
      weight.push_back(uniform(random));
      const SplitMaster halves = split_master(weight.back());
      high.push_back(halves.high);
      low.push_back(halves.low);
    }
    for (std::int64_t i = 0; i < n * cols; ++i) x.push_back(uniform(random));
    for (std::int64_t i = 0; i < n * rows; ++i) dy.push_back(uniform(random));
  }
  [[nodiscard]] WeightMatrix view(bool both) const {
    return {high.data(), both ? low.data() : nullptr, rows, cols};
  }
  [[nodiscard]] double used(bool both, std::int64_t i) const {
    const auto at = static_cast<std::size_t>(i);
    return both ? weight[at] : bf16_to_float(high[at]);
  }
};

/// Error bound for products of numbers below 1: the error of k fp32 additions stays below k 2^-24
/// times their sum.
double bound(std::int64_t k) {
  return static_cast<double>(k) * 6e-8 * std::sqrt(static_cast<double>(k)) + 1e-6;
}

class GemmShapes : public ::testing::TestWithParam<Matrices> {};

// One panel; a panel of 16 rows with a short last one; one row.
INSTANTIATE_TEST_SUITE_P(Gemm, GemmShapes,
                         ::testing::Values(Matrices(5, 7, 9), Matrices(2, 40, 70000),
                                           Matrices(1, 1, 3)));

TEST_P(GemmShapes, ProductsWithPanelsAgreeWithDouble) {
  const Matrices& m = GetParam();
  std::vector<float> panel(static_cast<std::size_t>(planner::panel_rows(m.rows, m.cols) * m.cols));
  for (const bool both : {false, true}) {
    std::vector<float> y(static_cast<std::size_t>(m.n * m.rows), NAN);
    multiply(m.x.data(), m.n, m.view(both), panel.data(), y.data());
    std::vector<float> dx(static_cast<std::size_t>(m.n * m.cols), NAN);
    multiply_transposed(m.dy.data(), m.n, m.view(both), panel.data(), Into::overwrite, dx.data());
    std::vector<float> twice = dx;
    multiply_transposed(m.dy.data(), m.n, m.view(both), panel.data(), Into::accumulate,
                        twice.data());
    for (std::int64_t i = 0; i < m.n; ++i) {
      for (std::int64_t r = 0; r < m.rows; ++r) {
        double sum = 0;
        for (std::int64_t c = 0; c < m.cols; ++c) {
          sum += m.used(both, r * m.cols + c) * m.x[static_cast<std::size_t>(i * m.cols + c)];
        }
        ASSERT_NEAR(y[static_cast<std::size_t>(i * m.rows + r)], sum, bound(m.cols));
      }
      for (std::int64_t c = 0; c < m.cols; ++c) {
        double sum = 0;
        for (std::int64_t r = 0; r < m.rows; ++r) {
          sum += m.used(both, r * m.cols + c) * m.dy[static_cast<std::size_t>(i * m.rows + r)];
        }
        const auto at = static_cast<std::size_t>(i * m.cols + c);
        ASSERT_NEAR(dx[at], sum, bound(m.rows));
        ASSERT_NEAR(twice[at], 2 * sum, 2 * bound(m.rows));
      }
    }
  }
}

TEST_P(GemmShapes, OuterProductsAccumulate) {
  const Matrices& m = GetParam();
  std::vector<float> gradient(m.weight.size(), 1.0f);
  accumulate_outer(m.dy.data(), m.x.data(), m.n, m.rows, m.cols, gradient.data());
  for (std::int64_t r = 0; r < m.rows; ++r) {
    for (std::int64_t c = 0; c < m.cols; ++c) {
      double sum = 1;
      for (std::int64_t i = 0; i < m.n; ++i) {
        sum += double{m.dy[static_cast<std::size_t>(i * m.rows + r)]} *
               m.x[static_cast<std::size_t>(i * m.cols + c)];
      }
      ASSERT_NEAR(gradient[static_cast<std::size_t>(r * m.cols + c)], sum, 1e-6);
    }
  }
}

}  // namespace
}  // namespace sluice::engine
