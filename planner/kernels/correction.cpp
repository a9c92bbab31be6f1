#include "planner/kernels/correction.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

namespace sluice::planner {
namespace {

constexpr std::size_t kBins = 128;

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Table of features in which each value is replaced by the index of its interval between ascending
/// thresholds.
class Binned {
 public:
  Binned(std::span<const double> features, std::size_t width)
      : width_(width), rows_(features.size() / width), thresholds_(width) {
    bins_.resize(features.size());
    for (std::size_t f = 0; f < width; ++f) {
      std::vector<double> values(rows_);
      for (std::size_t i = 0; i < rows_; ++i) values[i] = features[i * width + f];
      std::ranges::sort(values);
      std::vector<double>& cuts = thresholds_[f];
      for (std::size_t b = 1; b < kBins; ++b) {
        const std::size_t at = b * rows_ / kBins;
        const auto next = std::upper_bound(values.begin(), values.end(), values[at]);
        if (next == values.end()) continue;
        const double cut = rounded((values[at] + *next) / 2);
        if (cuts.empty() || cut > cuts.back()) cuts.push_back(cut);
      }
      for (std::size_t i = 0; i < rows_; ++i) {
        const auto bin = std::lower_bound(cuts.begin(), cuts.end(), features[i * width + f]);
        bins_[i * width + f] = static_cast<std::uint8_t>(bin - cuts.begin());
      }
    }
  }
  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t width() const { return width_; }
  [[nodiscard]] const std::uint8_t* row(std::size_t i) const { return &bins_[i * width_]; }
  [[nodiscard]] double threshold(std::size_t f, std::size_t bin) const {
    return thresholds_[f][bin];
  }

 private:
  std::size_t width_, rows_;
  std::vector<std::vector<double>> thresholds_;
  std::vector<std::uint8_t> bins_;
};

struct Bin {
  double sum = 0;
  double count = 0;
};

/// A leaf while it grows: its rows, their histogram and its best split.
struct Leaf {
  std::vector<std::uint32_t> rows;
  std::vector<Bin> histogram;
  double gain = 0;
  std::size_t feature = 0, bin = 0;
  std::size_t node = 0;
};

struct GrowingNode {
  std::int32_t feature = -1;
  double value = 0;
  std::size_t left = 0, right = 0;
};

class TreeGrower {
 public:
  TreeGrower(const Binned& data, const CorrectionOptions& options)
      : data_(data), options_(options), slope_(data.rows()), drawn_(data.rows()) {}

  /// Grows one tree on `residuals` and subtracts it from them.
  KernelCorrection::Tree grow(std::vector<double>& residuals) {
    for (std::size_t i = 0; i < slope_.size(); ++i) {
      slope_[i] = std::clamp(residuals[i], -options_.clip, options_.clip);
      state_ = state_ * 6364136223846793005u + 1442695040888963407u;
      drawn_[i] = static_cast<double>(state_ >> 40) < options_.share * 0x1p24;
    }
    nodes_.assign(1, {});
    leaves_.assign(1, {});
    leaves_[0].rows.resize(data_.rows());
    for (std::uint32_t i = 0; i < data_.rows(); ++i) leaves_[0].rows[i] = i;
    fill(leaves_[0]);
    find_split(leaves_[0]);
    while (leaves_.size() < static_cast<std::size_t>(options_.leaves)) {
      const auto best = std::ranges::max_element(leaves_, {}, &Leaf::gain);
      if (best->gain <= 0) break;
      split(static_cast<std::size_t>(best - leaves_.begin()));
    }
    for (const Leaf& leaf : leaves_) settle(leaf, residuals);
    KernelCorrection::Tree tree;
    flatten(0, tree);
    return tree;
  }

 private:
  void fill(Leaf& leaf) const {
    leaf.histogram.assign(data_.width() * kBins, {});
    for (const std::uint32_t i : leaf.rows) {
      if (!drawn_[i]) continue;
      const std::uint8_t* bins = data_.row(i);
      for (std::size_t f = 0; f < data_.width(); ++f) {
        Bin& bin = leaf.histogram[f * kBins + bins[f]];
        bin.sum += slope_[i];
        bin.count += 1;
      }
    }
  }

  void find_split(Leaf& leaf) const {
    leaf.gain = 0;
    for (std::size_t f = 0; f < data_.width(); ++f) {
      const Bin* bins = &leaf.histogram[f * kBins];
      Bin all;
      for (std::size_t b = 0; b < kBins; ++b) {
        all.sum += bins[b].sum;
        all.count += bins[b].count;
      }
      Bin left;
      for (std::size_t b = 0; b + 1 < kBins; ++b) {
        left.sum += bins[b].sum;
        left.count += bins[b].count;
        const Bin right{all.sum - left.sum, all.count - left.count};
        if (left.count < options_.least_rows) continue;
        if (right.count < options_.least_rows) break;
        const double gain = left.sum * left.sum / left.count + right.sum * right.sum / right.count -
                            all.sum * all.sum / all.count;
        if (gain > leaf.gain * (1 + 1e-9) + 1e-12) {
          leaf.gain = gain;
          leaf.feature = f;
          leaf.bin = b;
        }
      }
    }
  }

  void split(std::size_t at) {
    Leaf left, right;
    Leaf& parent = leaves_[at];
    for (const std::uint32_t i : parent.rows) {
      (data_.row(i)[parent.feature] <= parent.bin ? left : right).rows.push_back(i);
    }
    // The larger child's histogram is the parent's less the smaller one's.
    const bool left_small = left.rows.size() < right.rows.size();
    Leaf& small = left_small ? left : right;
    Leaf& large = left_small ? right : left;
    fill(small);
    large.histogram = std::move(parent.histogram);
    for (std::size_t b = 0; b < large.histogram.size(); ++b) {
      large.histogram[b].sum -= small.histogram[b].sum;
      large.histogram[b].count -= small.histogram[b].count;
    }
    GrowingNode node{.feature = static_cast<std::int32_t>(parent.feature),
                     .value = data_.threshold(parent.feature, parent.bin),
                     .left = nodes_.size(),
                     .right = nodes_.size() + 1};
    nodes_[parent.node] = node;
    left.node = node.left;
    right.node = node.right;
    nodes_.resize(nodes_.size() + 2);
    find_split(left);
    find_split(right);
    leaves_[at] = std::move(left);
    leaves_.push_back(std::move(right));
  }

  void settle(const Leaf& leaf, std::vector<double>& residuals) {
    std::vector<double> values;
    values.reserve(leaf.rows.size());
    for (const std::uint32_t i : leaf.rows) {
      if (drawn_[i]) values.push_back(residuals[i]);
    }
    const double value = values.empty() ? 0 : rounded(options_.learning_rate * median(values));
    nodes_[leaf.node].value = value;
    for (const std::uint32_t i : leaf.rows) residuals[i] -= value;
  }

  void flatten(std::size_t at, KernelCorrection::Tree& tree) const {
    const GrowingNode& node = nodes_[at];
    const std::size_t here = tree.size();
    tree.push_back({.feature = node.feature, .value = node.value});
    if (node.feature < 0) return;
    flatten(node.left, tree);
    tree[here].right = static_cast<std::int32_t>(tree.size());
    flatten(node.right, tree);
  }

  const Binned& data_;
  const CorrectionOptions& options_;
  std::vector<double> slope_;
  std::vector<bool> drawn_;  ///< Whether each row is among those that the present tree is grown on.
  std::uint64_t state_ = 0x9e3779b97f4a7c15u;
  std::vector<GrowingNode> nodes_;
  std::vector<Leaf> leaves_;
};

}  // namespace

double KernelCorrection::value(const Tree& tree, std::span<const double> features) {
  std::size_t at = 0;
  while (tree[at].feature >= 0) {
    const Node& node = tree[at];
    at = features[static_cast<std::size_t>(node.feature)] <= node.value
             ? at + 1
             : static_cast<std::size_t>(node.right);
  }
  return tree[at].value;
}

double KernelCorrection::value(std::span<const double> features) const {
  double sum = 0;
  for (const Tree& tree : trees_) sum += value(tree, features);
  return sum;
}

KernelCorrection fit_correction(std::span<const double> features, std::size_t width,
                                std::span<const double> residuals,
                                const CorrectionOptions& options) {
  KernelCorrection correction;
  if (residuals.empty()) return correction;
  const Binned data(features, width);
  std::vector<double> left(residuals.begin(), residuals.end());
  TreeGrower grower(data, options);
  for (int i = 0; i < options.trees; ++i) correction.add(grower.grow(left));
  return correction;
}

double rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return std::strtod(text, nullptr);
}

}  // namespace sluice::planner
