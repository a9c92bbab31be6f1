// The ring queue in builds without liburing.
#include "engine/disk/ring_queue.hpp"

namespace sluice::engine {

std::unique_ptr<BlockQueue> open_ring_queue(int /*descriptor*/,
                                            std::span<const std::span<std::byte>> /*memory*/,
                                            unsigned /*depth*/) {
  return nullptr;
}

bool has_io_uring() { return false; }

}  // namespace sluice::engine
