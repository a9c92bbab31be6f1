// Load latency of host memory, piece by piece. A virtual machine that shows one NUMA node may use
// memory of two nodes of its host, of different latency.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "sim/units.hpp"

namespace sluice::engine {

/// Latency of one load from a random address of `memory` that depends on the load before it: the
/// median of sixteen batches, so that an interruption does not count. `memory` must be resident and
/// larger than the caches. Takes about 0.2 ms.
[[nodiscard]] Seconds load_latency(std::span<const std::byte> memory);

/// Division of memory pieces into two groups by latency.
struct MemoryKinds {
  Seconds quick{0}, slow{0};  ///< Mean latency of each group.
  double slow_share = 0;      ///< Share of slow pieces among all.
  std::vector<bool> is_slow;  ///< Whether each piece is slow, by its index.
};

/// The two groups of `latencies` with the least sum of squared deviations within groups. Returns
/// none, meaning memory of one speed, unless the slower group's mean is at least 1.3 times the
/// other's and each group holds at least a twentieth of all pieces.
[[nodiscard]] std::optional<MemoryKinds> kinds_of(std::span<const Seconds> latencies);

/// An order of the pieces in which every stretch has the overall share of slow ones, to within one
/// piece. Pieces of one speed keep their relative order; order[i] is the index of the piece to be
/// put at place i.
[[nodiscard]] std::vector<std::size_t> even_order(const std::vector<bool>& is_slow);

}  // namespace sluice::engine
