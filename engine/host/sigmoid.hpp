// The logistic function of one value, by the standard library's exponential. Kernels over many
// values have their own (engine/host/elementwise.hpp).
#pragma once

#include <cmath>
#include <concepts>

namespace sluice::engine {

/// 1 / (1 + e^-x), in the type of `x`.
template <std::floating_point T>
[[nodiscard]] T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}

}  // namespace sluice::engine
