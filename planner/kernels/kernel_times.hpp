// Times of kernels that were asked for before, by shape.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <shared_mutex>
#include <utility>

#include "planner/kernels/kernel_shape.hpp"

namespace sluice::planner {

/// Times of one family's kernels by shape, each computed once. Safe to share between threads.
class KernelTimes {
 public:
  /// The time of `shape` in seconds: the one kept, else `compute()`, which is kept then.
  [[nodiscard]] double of(KernelKind kind, const KernelShape& shape,
                          const std::function<double()>& compute) const;

 private:
  using Key = std::pair<KernelKind, KernelShape>;
  /// Largest number of times that are kept; beyond it all are forgotten.
  static constexpr std::size_t kMost = 100'000;

  mutable std::shared_mutex mutex_;
  mutable std::map<Key, double> kept_;
};

}  // namespace sluice::planner
