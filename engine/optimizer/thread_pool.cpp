#include "engine/optimizer/thread_pool.hpp"

#include <algorithm>
#include <string>
#include <system_error>

#include "sim/error.hpp"

namespace sluice::engine {

ThreadPool::ThreadPool(int threads) {
  try {
    for (int worker = 1; worker < threads; ++worker) {
      workers_.emplace_back([this] { serve(); });
    }
  } catch (const std::system_error& error) {
    const std::size_t started = workers_.size() + 1;
    stop();
    throw EnvironmentError("threads: " + std::to_string(threads) + " cannot be started, but " +
                           std::to_string(started) + " can (" + error.code().message() +
                           "): ask for fewer (--threads)");
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  stopping_.store(true, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run_erased(std::int64_t tiles, int threads, Call call, void* context) {
  if (workers_.empty() || threads <= 1 || tiles <= 1) {
    for (std::int64_t tile = 0; tile < tiles; ++tile) call(context, tile);
    return;
  }
  call_ = call;
  context_ = context;
  tiles_ = tiles;
  next_.store(0, std::memory_order_relaxed);
  const int offered =
      static_cast<int>(std::min<std::int64_t>({threads - 1, this->threads() - 1, tiles - 1}));
  seats_.store(offered, std::memory_order_release);  // Publishes all of the above.
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  work();
  const int joined = offered - seats_.exchange(0, std::memory_order_relaxed);
  int left = running_.fetch_add(joined, std::memory_order_acq_rel) + joined;
  while (left != 0) {
    running_.wait(left, std::memory_order_acquire);
    left = running_.load(std::memory_order_acquire);
  }
}

void ThreadPool::work() {
  for (;;) {
    const std::int64_t tile = next_.fetch_add(1, std::memory_order_relaxed);
    if (tile >= tiles_) return;
    call_(context_, tile);
  }
}

void ThreadPool::serve() {
  // Generations start at 0 before any worker does, so a call made before this line is seen.
  for (std::uint32_t seen = 0;;) {
    generation_.wait(seen, std::memory_order_acquire);
    seen = generation_.load(std::memory_order_acquire);
    if (stopping_.load(std::memory_order_relaxed)) return;
    int free = seats_.load(std::memory_order_relaxed);
    while (free > 0 && !seats_.compare_exchange_weak(free, free - 1, std::memory_order_acquire,
                                                     std::memory_order_relaxed)) {
    }
    if (free == 0) continue;
    work();
    // The caller adds those who joined after the last tile was taken: 1 is the last of them.
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_one();
  }
}

}  // namespace sluice::engine
