// A sum of small regression trees: what the constants of a kernel family leave unexplained.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::planner {

/// Piecewise constant and bounded: beyond the shapes it was fitted to, it keeps its last value.
class KernelCorrection {
 public:
  /// A node in preorder: a split on `feature` (left subtree follows; taken where the feature is at
  /// most `value`), or a leaf (`feature` -1) worth `value`.
  struct Node {
    std::int32_t feature = -1;
    double value = 0;
    std::int32_t right = 0;  ///< Index of the right subtree; 0 in a leaf.
  };
  using Tree = std::vector<Node>;

  void add(Tree tree) { trees_.push_back(std::move(tree)); }
  [[nodiscard]] std::span<const Tree> trees() const { return trees_; }
  /// Sum over the trees.
  [[nodiscard]] double value(std::span<const double> features) const;
  static double value(const Tree& tree, std::span<const double> features);

 private:
  std::vector<Tree> trees_;
};

struct CorrectionOptions {
  int trees = 240;
  int leaves = 31;
  int least_rows = 20;  ///< In a leaf.
  double learning_rate = 0.07;
  double share = 0.5;  ///< Of the rows that a tree is grown on.
  double clip = 0.02;  ///< Residuals beyond it count as this much: outliers carry no weight.
};

/// Six significant digits: what a file holds is what was fitted.
[[nodiscard]] double rounded(double value);

/// Gradient boosting with medians in the leaves (Friedman, Greedy function approximation, Annals of
/// Statistics 29, 2001, algorithm 3), each tree grown on its own share of the rows (Stochastic
/// gradient boosting, 2002), best leaf first, over at most 128 thresholds a feature. Row i of
/// `features` is [i * width, (i + 1) * width). Deterministic.
[[nodiscard]] KernelCorrection fit_correction(std::span<const double> features, std::size_t width,
                                              std::span<const double> residuals,
                                              const CorrectionOptions& options = {});

}  // namespace sluice::planner
