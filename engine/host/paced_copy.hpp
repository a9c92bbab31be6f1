// Copies that take as long as a link of a set bandwidth would: the host backend's PCIe.
#pragma once

#include <cstddef>
#include <span>

#include "sim/units.hpp"

namespace sluice::engine {

/// One direction of the link.
struct LinkPace {
  BytesPerSecond bandwidth{0};
  Seconds latency{0};
};

/// Copies `source` to `destination` (equal sizes, no overlap) in slices whose deadlines are
/// start + latency + bytes so far / bandwidth, sleeping in between: the copy ends when its time is
/// due, and costs the memory system the same at every instant. Where memory is slower than the
/// pace, it ends late.
void paced_copy(std::span<const std::byte> source, std::span<std::byte> destination,
                const LinkPace& pace);

}  // namespace sluice::engine
