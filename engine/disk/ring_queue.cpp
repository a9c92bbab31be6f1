#include "engine/disk/ring_queue.hpp"

#include <liburing.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

class RingQueue : public BlockQueue {
 public:
  RingQueue(const io_uring& ring, int descriptor, std::span<const std::span<std::byte>> memory,
            unsigned depth)
      : ring_(ring), descriptor_(descriptor), depth_(depth) {
    std::vector<iovec> buffers;
    buffers.reserve(memory.size());
    for (const std::span<std::byte> each : memory) buffers.push_back({each.data(), each.size()});
    if (buffers.empty()) return;
    // Pages are then pinned once and not for every transfer.
    if (io_uring_register_buffers(&ring_, buffers.data(), static_cast<unsigned>(buffers.size())) ==
        0) {
      registered_.assign(memory.begin(), memory.end());
    }
  }
  ~RingQueue() override { io_uring_queue_exit(&ring_); }

  void move(Way way, const BlockRange& range, BlockWork& work) override {
    std::exception_ptr failure;
    std::int64_t next = 0;
    unsigned in_flight = 0;
    const int registered = registered_as(range);
    while ((next < range.blocks() && !failure) || in_flight > 0) {
      while (in_flight < depth_ && next < range.blocks() && !failure) {
        try {
          submit(way, range, next, registered, work);
          ++in_flight;
        } catch (...) {
          failure = std::current_exception();
        }
        ++next;
      }
      if (in_flight == 0) break;
      io_uring_cqe* ended = nullptr;
      const int waited =
          broken_ ? io_uring_wait_cqe(&ring_, &ended) : io_uring_submit_and_wait(&ring_, 1);
      if (!broken_ && waited < 0 && waited != -EINTR && waited != -EAGAIN && waited != -EBUSY) {
        // What the system has taken may still come or go: the memory must outlive it.
        broken_ = true;
        in_flight -= io_uring_sq_ready(&ring_);
        if (!failure) failure = std::make_exception_ptr(EnvironmentError(std::strerror(-waited)));
        continue;
      }
      while (io_uring_peek_cqe(&ring_, &ended) == 0 && ended != nullptr) {
        const auto number = static_cast<std::int64_t>(ended->user_data);
        const int result = ended->res;
        io_uring_cqe_seen(&ring_, ended);
        --in_flight;
        try {
          finish(way, range, number, result, work);
        } catch (...) {
          if (!failure) failure = std::current_exception();
        }
      }
    }
    if (failure) std::rethrow_exception(failure);
  }

 private:
  static std::span<std::byte> block_of(const BlockRange& range, std::int64_t number) {
    return {range.memory + range.begin(number), static_cast<std::size_t>(range.size(number))};
  }

  /// The registered memory that holds all of `range`, or -1.
  [[nodiscard]] int registered_as(const BlockRange& range) const {
    for (std::size_t i = 0; i < registered_.size(); ++i) {
      const std::span<std::byte> memory = registered_[i];
      if (range.memory >= memory.data() &&
          range.memory + range.bytes <= memory.data() + memory.size()) {
        return static_cast<int>(i);
      }
    }
    return -1;
  }

  void submit(Way way, const BlockRange& range, std::int64_t number, int registered,
              BlockWork& work) {
    const std::span<std::byte> block = block_of(range, number);
    if (way == Way::write) work.visit(number, block);
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    if (entry == nullptr) throw EnvironmentError("io_uring has no free entry");
    const auto bytes = static_cast<unsigned>(block.size());
    const auto at = static_cast<std::uint64_t>(range.offset + range.begin(number));
    if (way == Way::read && registered >= 0) {
      io_uring_prep_read_fixed(entry, descriptor_, block.data(), bytes, at, registered);
    } else if (way == Way::read) {
      io_uring_prep_read(entry, descriptor_, block.data(), bytes, at);
    } else if (registered >= 0) {
      io_uring_prep_write_fixed(entry, descriptor_, block.data(), bytes, at, registered);
    } else {
      io_uring_prep_write(entry, descriptor_, block.data(), bytes, at);
    }
    entry->user_data = static_cast<std::uint64_t>(number);
  }

  void finish(Way way, const BlockRange& range, std::int64_t number, int result, BlockWork& work) {
    const std::span<std::byte> block = block_of(range, number);
    const std::size_t moved = result > 0 ? static_cast<std::size_t>(result) : 0;
    // What failed is tried once more; of what was cut short, the rest.
    if (moved < block.size()) move_or_refuse(way, descriptor_, range, number, moved, work);
    if (way == Way::read) work.visit(number, block);
  }

  io_uring ring_;
  int descriptor_;
  unsigned depth_;       ///< Blocks in flight, at most.
  bool broken_ = false;  ///< The system takes nothing any more.
  std::vector<std::span<std::byte>> registered_;
};

}  // namespace

std::unique_ptr<BlockQueue> open_ring_queue(int descriptor,
                                            std::span<const std::span<std::byte>> memory,
                                            unsigned depth) {
  io_uring ring{};
  depth = std::clamp(depth, 1U, kMostDepth);
  if (io_uring_queue_init(depth, &ring, 0) < 0) return nullptr;
  return std::make_unique<RingQueue>(ring, descriptor, memory, depth);
}

bool has_io_uring() {
  io_uring ring{};
  if (io_uring_queue_init(1, &ring, 0) < 0) return false;
  io_uring_queue_exit(&ring);
  return true;
}

}  // namespace sluice::engine
