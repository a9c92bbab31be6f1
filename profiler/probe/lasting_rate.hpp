// What a rate goes on at, where it falls after a while.
#pragma once

#include <cstddef>
#include <optional>

#include "profiler/probe/sampling.hpp"

namespace sluice::profiler {

/// Samples of equal times, split where a fall explains them best.
struct LastingRate {
  Samples lasting;              ///< From the fall on; all of them where there is none.
  std::optional<double> first;  ///< The median before the fall; none where there is none.
  std::size_t fell_after = 0;   ///< Samples before it.
};

/// A fall is by a tenth or more, stands out of the scatter of both sides, and has at least three
/// samples and a tenth of all on each. Drives and those who lend them take more at first than they
/// go on with: a cache of faster cells, or a burst that is allowed.
[[nodiscard]] LastingRate lasting_rate(const Samples& samples);

}  // namespace sluice::profiler
