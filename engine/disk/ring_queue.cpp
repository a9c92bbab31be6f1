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
    ended_.reserve(depth);
    std::vector<iovec> buffers;
    buffers.reserve(memory.size());
    for (const std::span<std::byte> each : memory) buffers.push_back({each.data(), each.size()});
    if (buffers.empty()) return;
    // Registered pages are pinned once, not for every transfer.
    if (io_uring_register_buffers(&ring_, buffers.data(), static_cast<unsigned>(buffers.size())) ==
        0) {
      registered_.assign(memory.begin(), memory.end());
    }
  }
  ~RingQueue() override { io_uring_queue_exit(&ring_); }

  void move(Direction direction, const BlockRange& range, BlockWork& work) override {
    if (broken_) throw EnvironmentError("io_uring takes no more transfers");
    Move move{
        .direction = direction, .range = range, .work = work, .registered = registered_as(range)};
    ended_.clear();
    while (move.goes_on() || move.in_flight > 0 || !ended_.empty()) {
      refill(move);
      look_at_ended(move);
      if (move.in_flight == 0) continue;
      prepare_ahead(move);
      take_back(move);
    }
    if (move.failure) std::rethrow_exception(move.failure);
  }

 private:
  static std::span<std::byte> block_of(const BlockRange& range, std::int64_t number) {
    return {range.memory + range.begin(number), static_cast<std::size_t>(range.size(number))};
  }

  /// Index of the registered memory that holds all of `range`, or -1.
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

  /// State of a transfer. Work with blocks must not keep the drive waiting: blocks are signed
  /// before there is room to submit them, and room is refilled before blocks that were read are
  /// verified.
  struct Move {
    Direction direction;
    const BlockRange& range;
    BlockWork& work;
    int registered;
    std::int64_t next = 0;  ///< Next block to submit.
    /// Blocks that may be submitted; for a write, those already visited.
    std::int64_t prepared = 0;
    unsigned in_flight = 0;
    std::exception_ptr failure = nullptr;

    [[nodiscard]] bool goes_on() const { return next < range.blocks() && !failure; }
  };

  /// A transfer that has ended, and its result.
  struct Ended {
    std::int64_t number;
    int result;
  };

  static void keep_failure(Move& move) {
    if (!move.failure) move.failure = std::current_exception();
  }

  void refill(Move& move) {
    while (move.in_flight < depth_ && move.goes_on()) {
      try {
        if (move.prepared <= move.next) {
          tell(move, false);
          if (move.failure) return;
          prepare(move);
        }
        submit(move);
        ++move.in_flight;
      } catch (...) {
        keep_failure(move);
      }
      ++move.next;
    }
    tell(move, false);
  }

  static void prepare(Move& move) {
    const std::int64_t number = move.prepared++;
    if (move.direction == Direction::write) move.work.visit(number, block_of(move.range, number));
  }

  /// Prepares the blocks to be written next, as long as no transfer has ended.
  void prepare_ahead(Move& move) {
    const std::int64_t enough = std::min(move.range.blocks(), move.next + depth_);
    while (!move.failure && move.prepared < enough && io_uring_cq_ready(&ring_) == 0) {
      try {
        prepare(move);
      } catch (...) {
        keep_failure(move);
      }
    }
  }

  /// Submits what is queued, and waits for a transfer to end if `wait` is set.
  void tell(Move& move, bool wait) {
    int said = 0;
    if (broken_) {
      io_uring_cqe* ended = nullptr;
      if (wait) said = io_uring_wait_cqe(&ring_, &ended);
    } else if (wait) {
      said = io_uring_submit_and_wait(&ring_, 1);
    } else if (io_uring_sq_ready(&ring_) > 0) {
      said = io_uring_submit(&ring_);
    }
    if (broken_ || said >= 0 || said == -EINTR || said == -EAGAIN || said == -EBUSY) return;
    // Transfers that the system has accepted may still run, so the memory must outlive them.
    broken_ = true;
    move.in_flight -= io_uring_sq_ready(&ring_);
    if (!move.failure) {
      move.failure = std::make_exception_ptr(EnvironmentError(std::strerror(-said)));
    }
  }

  void take_back(Move& move) {
    tell(move, true);
    io_uring_cqe* ended = nullptr;
    while (io_uring_peek_cqe(&ring_, &ended) == 0 && ended != nullptr) {
      ended_.push_back({static_cast<std::int64_t>(ended->user_data), ended->res});
      io_uring_cqe_seen(&ring_, ended);
      --move.in_flight;
    }
  }

  void look_at_ended(Move& move) {
    for (const Ended& ended : ended_) {
      try {
        finish(move, ended);
      } catch (...) {
        keep_failure(move);
      }
    }
    ended_.clear();
  }

  void submit(const Move& move) {
    const std::span<std::byte> block = block_of(move.range, move.next);
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    if (entry == nullptr) throw EnvironmentError("io_uring has no free entry");
    const auto bytes = static_cast<unsigned>(block.size());
    const auto at = static_cast<std::uint64_t>(move.range.offset + move.range.begin(move.next));
    const int registered = move.registered;
    if (move.direction == Direction::read && registered >= 0) {
      io_uring_prep_read_fixed(entry, descriptor_, block.data(), bytes, at, registered);
    } else if (move.direction == Direction::read) {
      io_uring_prep_read(entry, descriptor_, block.data(), bytes, at);
    } else if (registered >= 0) {
      io_uring_prep_write_fixed(entry, descriptor_, block.data(), bytes, at, registered);
    } else {
      io_uring_prep_write(entry, descriptor_, block.data(), bytes, at);
    }
    entry->user_data = static_cast<std::uint64_t>(move.next);
  }

  void finish(const Move& move, const Ended& ended) {
    const std::span<std::byte> block = block_of(move.range, ended.number);
    const std::size_t moved = ended.result > 0 ? static_cast<std::size_t>(ended.result) : 0;
    // A failed transfer is repeated once; a short one is continued.
    if (moved < block.size()) {
      move_or_refuse(move.direction, descriptor_, move.range, ended.number, moved, move.work);
    }
    if (move.direction == Direction::read) move.work.visit(ended.number, block);
  }

  io_uring ring_;
  int descriptor_;
  unsigned depth_;       ///< Largest number of blocks in flight.
  bool broken_ = false;  ///< Whether the system no longer accepts transfers.
  std::vector<std::span<std::byte>> registered_;
  std::vector<Ended> ended_;  ///< Transfers that have ended and were not looked at yet.
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
