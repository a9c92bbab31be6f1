// The lasting part of a rate that falls after a while.
#pragma once

#include <cstddef>
#include <optional>

#include "profiler/probe/sampling.hpp"

namespace sluice::profiler {

/// Samples of equal times, split at the fall of the rate that explains them best.
struct LastingRate {
  Samples lasting;              ///< Samples from the fall on; all of them where there is no fall.
  std::optional<double> first;  ///< Median before the fall; none where there is no fall.
  std::size_t fell_after = 0;   ///< Number of samples before the rate fell; 0 where it did not.
};

/// Finds a fall of a rate: by a tenth or more, beyond the scatter of both sides, with at least
/// three samples and a tenth of all on each side. Drives and rented disks take more at first than
/// they go on with: a cache of faster cells, or an allowed burst.
[[nodiscard]] LastingRate lasting_rate(const Samples& samples);

}  // namespace sluice::profiler
