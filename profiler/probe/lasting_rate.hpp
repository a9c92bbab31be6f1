// Detection of a rate that falls after a while, and of what it falls to.
#pragma once

#include <cstddef>
#include <optional>

#include "profiler/probe/sampling.hpp"

namespace sluice::profiler {

/// Samples of a rate over equal times, divided where the rate fell.
struct LastingRate {
  Samples lasting;  ///< Samples after the rate fell; all of them where it did not.
  /// Median of the samples before the rate fell; none where it did not.
  std::optional<double> first;
  std::size_t fell_after = 0;  ///< Number of samples before the rate fell; 0 where it did not.
};

/// Finds where a rate fell: by a tenth or more, beyond the scatter of both sides, with at least
/// three samples and a tenth of all on each side. Drives and rented disks take more at first than
/// they go on with: a cache of faster cells, or an allowed burst.
[[nodiscard]] LastingRate lasting_rate(const Samples& samples);

}  // namespace sluice::profiler
