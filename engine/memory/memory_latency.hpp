// What a load from host memory takes, piece by piece: a virtual machine of one apparent NUMA node
// may lie on two of its host's.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "sim/units.hpp"

namespace sluice::engine {

/// Time of one load that waits for the one before it, over addresses of `memory` that follow no
/// pattern: the median of sixteen batches, so that an interruption does not count. Memory of more
/// than a cache's size that is present; about 0.2 ms.
[[nodiscard]] Seconds load_latency(std::span<const std::byte> memory);

/// Memory of two speeds.
struct MemoryKinds {
  Seconds quick{0}, slow{0};  ///< Mean latencies.
  double slow_share = 0;      ///< Of all pieces.
  std::vector<bool> is_slow;  ///< By piece.
};

/// The two groups of `latencies` that differ most (least squares within them), where the slower
/// one's mean is at least 1.3 times the other's and either has a twentieth of all: else memory is
/// of one kind, and nothing is returned. On an H200's virtual host 0.13 and 0.31 us, in two
/// processes.
[[nodiscard]] std::optional<MemoryKinds> kinds_of(std::span<const Seconds> latencies);

/// Pieces in an order in which every stretch has, to within a piece, the share of slow ones that
/// all have; those of one kind stay in their order. order[place] is a piece.
[[nodiscard]] std::vector<std::size_t> even_order(const std::vector<bool>& is_slow);

}  // namespace sluice::engine
