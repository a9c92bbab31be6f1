// Copies that take as long as a link of a given bandwidth would; the host backend's PCIe.
#pragma once

#include <cstddef>
#include <span>

#include "sim/units.hpp"

namespace sluice::engine {

/// Speed of one direction of the imitated link between host and device.
struct LinkPace {
  BytesPerSecond bandwidth{0};
  Seconds latency{0};
};

/// Copies `source` to `destination` (equal sizes, no overlap) in slices, each with the deadline
/// start + latency + bytes so far / bandwidth, sleeping in between. The copy ends at its due time
/// and loads the memory evenly throughout; it ends late if memory is slower than the pace.
void paced_copy(std::span<const std::byte> source, std::span<std::byte> destination,
                const LinkPace& pace);

}  // namespace sluice::engine
