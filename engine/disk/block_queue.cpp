#include "engine/disk/block_queue.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <mutex>

#include "engine/disk/ring_queue.hpp"
#include "engine/optimizer/thread_pool.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

/// Number of threads, the caller's included.
constexpr int kThreads = 4;

class ThreadQueue : public BlockQueue {
 public:
  explicit ThreadQueue(int descriptor) : descriptor_(descriptor), pool_(kThreads) {}

  void move(Direction direction, const BlockRange& range, BlockWork& work) override {
    std::mutex mutex;
    std::exception_ptr failure;
    std::atomic<bool> failed{false};
    auto tile = [&](std::int64_t number) {
      if (failed.load()) return;
      try {
        const std::span<std::byte> block(range.memory + range.begin(number),
                                         static_cast<std::size_t>(range.size(number)));
        if (direction == Direction::write) work.visit(number, block);
        move_or_refuse(direction, descriptor_, range, number, 0, work);
        if (direction == Direction::read) work.visit(number, block);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        failed.store(true);
      }
    };
    pool_.run(range.blocks(), kThreads, tile);
    if (failure) std::rethrow_exception(failure);
  }

 private:
  int descriptor_;
  ThreadPool pool_;
};

}  // namespace

void move_whole(Direction direction, int descriptor, std::int64_t offset,
                std::span<std::byte> memory) {
  for (std::size_t done = 0; done < memory.size();) {
    const std::size_t left = memory.size() - done;
    const auto at = static_cast<off_t>(offset) + static_cast<off_t>(done);
    const ssize_t moved = direction == Direction::read
                              ? pread(descriptor, memory.data() + done, left, at)
                              : pwrite(descriptor, memory.data() + done, left, at);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) throw EnvironmentError(std::strerror(errno));
    if (moved == 0) throw EnvironmentError("the file ends before it");
    done += static_cast<std::size_t>(moved);
  }
}

void move_or_refuse(Direction direction, int descriptor, const BlockRange& range,
                    std::int64_t number, std::size_t done, BlockWork& work) {
  const std::span<std::byte> block(range.memory + range.begin(number),
                                   static_cast<std::size_t>(range.size(number)));
  const std::int64_t from = range.offset + range.begin(number) + static_cast<std::int64_t>(done);
  try {
    move_whole(direction, descriptor, from, block.subspan(done));
  } catch (const EnvironmentError& error) {
    if (!work.refused(number, block, error.what())) throw;
  }
}

std::unique_ptr<BlockQueue> open_block_queue(DiskIo io, int descriptor,
                                             std::span<const std::span<std::byte>> memory,
                                             unsigned depth) {
  if (io == DiskIo::best) {
    if (auto ring = open_ring_queue(descriptor, memory, depth)) return ring;
  }
  return std::make_unique<ThreadQueue>(descriptor);
}

}  // namespace sluice::engine
