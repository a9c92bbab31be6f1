// Queue of block transfers through io_uring: up to a fixed number are in flight, and the calling
// thread submits and completes them.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "engine/disk/block_queue.hpp"

namespace sluice::engine {

/// Opens a queue that moves blocks of the file `descriptor` through io_uring, up to `depth` at a
/// time; null if this build has no io_uring or the system refuses it. `memory`: stretches of host
/// memory that transfers will use, which are registered with the kernel as far as the limit on
/// locked memory allows.
[[nodiscard]] std::unique_ptr<BlockQueue> open_ring_queue(
    int descriptor, std::span<const std::span<std::byte>> memory, unsigned depth);

}  // namespace sluice::engine
