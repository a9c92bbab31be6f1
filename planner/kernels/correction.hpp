// Correction of a kernel family: a sum of small regression trees for what the family's constants
// leave unexplained.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::planner {

/// Sum of regression trees over features of a kernel's shape: piecewise constant, bounded, and
/// constant beyond the shapes that it was fitted to. Its value is added to the logarithm of the
/// predicted time.
class KernelCorrection {
 public:
  /// A node of a tree in preorder: a split on the feature with index `feature` (the left subtree
  /// follows at once and is taken where the feature is at most `value`), or a leaf (`feature` -1),
  /// whose prediction is `value`.
  struct Node {
    std::int32_t feature = -1;
    double value = 0;
    std::int32_t right = 0;  ///< Index of the node at which the right subtree begins; 0 in a leaf.
  };
  using Tree = std::vector<Node>;

  void add(Tree tree) { trees_.push_back(std::move(tree)); }
  [[nodiscard]] std::span<const Tree> trees() const { return trees_; }
  /// Sum of the predictions of all trees for `features`.
  [[nodiscard]] double value(std::span<const double> features) const;
  static double value(const Tree& tree, std::span<const double> features);

 private:
  std::vector<Tree> trees_;
};

struct CorrectionOptions {
  int trees = 240;
  int leaves = 31;
  int least_rows = 20;  ///< Smallest number of rows to which a leaf of a tree is fitted.
  double learning_rate = 0.07;
  double share = 0.5;  ///< Share (0 to 1) of the rows on which each tree is grown.
  /// Largest residual (of ln time) that counts: larger ones are clipped to it, so that outliers
  /// carry no weight.
  double clip = 0.02;
};

/// `value` rounded to six significant digits, so that files hold exactly what was fitted.
[[nodiscard]] double rounded(double value);

/// Fits a correction to `residuals` (of ln time), one a row, by gradient boosting with medians in
/// the leaves (Friedman, Greedy function approximation, Annals of Statistics 29, 2001, algorithm
/// 3), each tree grown on its own share of the rows (Stochastic gradient boosting, 2002), best leaf
/// first, over at most 128 thresholds a feature. Row i of `features` is [i * width, (i + 1) *
/// width). Equal input gives equal trees.
[[nodiscard]] KernelCorrection fit_correction(std::span<const double> features, std::size_t width,
                                              std::span<const double> residuals,
                                              const CorrectionOptions& options = {});

}  // namespace sluice::planner
