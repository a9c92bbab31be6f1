// Thread pool without allocation or thread creation per call.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace sluice::engine {

/// Runs the tiles of one call at a time over a fixed set of workers, which sleep on a futex between
/// calls. The caller works too, so a pool of one starts no thread. A worker that wakes after all
/// tiles were taken does nothing, and nobody waits for it. Calls must not be concurrent.
class ThreadPool {
 public:
  /// Throws EnvironmentError if the system cannot start that many threads.
  explicit ThreadPool(int threads);
  ThreadPool(const ThreadPool&) = delete;  // Workers hold `this`.
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  [[nodiscard]] int threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls tile(i) once for every i in [0, tiles), on at most `threads` threads, and returns when
  /// all have ended. `tile` must not throw.
  template <class Tile>
  void run(std::int64_t tiles, int threads, Tile& tile) {
    run_erased(
        tiles, threads, [](void* context, std::int64_t i) { (*static_cast<Tile*>(context))(i); },
        &tile);
  }

 private:
  using Call = void (*)(void*, std::int64_t);
  static constexpr std::size_t kCacheLine = 64;

  void run_erased(std::int64_t tiles, int threads, Call call, void* context);
  void work();
  void serve();
  void stop();  ///< Ends the workers that were started.

  std::vector<std::thread> workers_;
  Call call_ = nullptr;
  void* context_ = nullptr;
  std::int64_t tiles_ = 0;
  /// Number of calls of `run` so far; idle workers wait for its change.
  std::atomic<std::uint32_t> generation_{0};
  std::atomic<bool> stopping_{false};
  /// The members below are written during a call, so they do not share a cache line with what
  /// workers only read then.
  alignas(kCacheLine) std::atomic<std::int64_t> next_{0};  ///< First tile that no worker has taken.
  /// Number of workers that may still join the current call.
  alignas(kCacheLine) std::atomic<int> seats_{0};
  /// Workers that joined less those that finished, once the caller has closed the call to new ones.
  std::atomic<int> running_{0};
};

}  // namespace sluice::engine
