// Block transfers through io_uring: a fixed number in flight, submitted and completed by the lane's
// thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "engine/disk/block_queue.hpp"

namespace sluice::engine {

/// Opens a queue of `depth` blocks in flight; null if this build has no io_uring or the system
/// refuses it. `memory` is registered with the kernel as far as the limit on locked memory allows.
[[nodiscard]] std::unique_ptr<BlockQueue> open_ring_queue(
    int descriptor, std::span<const std::span<std::byte>> memory, unsigned depth);

}  // namespace sluice::engine
