// Numbers of elements of what a unit's weights, gradients and optimizer state take.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/models/job.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Numbers of elements of a unit's vectors, padding included.
struct UnitSize {
  std::int64_t parameters = 0;  ///< Elements of weights, gradients and first moments.
  /// Elements of second moments v: as many, but where Muon has a block's matrices those of its
  /// other tensors alone (SecondMoments).
  std::int64_t second = 0;
};

/// Sizes of the job's unit `unit`, computed without making the names of many tensors.
[[nodiscard]] UnitSize unit_size(const Job& job, std::size_t unit);
/// Sizes of all units, in their order.
[[nodiscard]] std::vector<UnitSize> unit_sizes(const Job& job);
/// Sizes of a rank's slice of a unit of `size`.
[[nodiscard]] UnitSize slice_of(const UnitSize& size, std::int64_t ranks);
/// Bytes of master weights, m and v.
[[nodiscard]] Bytes state_bytes(const Job& job, const UnitSize& size);

}  // namespace sluice::planner
