// Sum of all ranks' gradients along the tree of docs/numerics.md.
#pragma once

#include <cstdint>
#include <functional>

namespace sluice::engine {

/// The sums of several ranks of the same elements, and their sum: T(0, N), where
///   T(r, r + 1) = rank r's,
///   T(lo, hi) = T(lo, lo + k) + T(lo + k, hi), k the largest power of two below hi - lo,
/// element by element in fp32. It is the upper part of the tree of groups, whose lower parts the
/// ranks hold.
class RankTree {
 public:
  /// `of_rank` gives the address of a rank's elements.
  RankTree(int ranks, std::function<const float*(int rank)> of_rank)
      : ranks_(ranks), of_rank_(std::move(of_rank)) {}

  /// Writes the sum of `elements` elements to `to`, which may be where one rank's lie.
  void sum(std::int64_t elements, float* to) const;

 private:
  /// Writes T(low, high) of `count` elements from `first` on to `to`, which no rank's elements
  /// overlap.
  void part(int low, int high, std::int64_t first, std::int64_t count, float* to) const;

  int ranks_;
  std::function<const float*(int)> of_rank_;
};

}  // namespace sluice::engine
