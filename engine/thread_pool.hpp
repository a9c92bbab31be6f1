// Workers that outlive their tasks: no thread is created and nothing is allocated per call.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace sluice::engine {

/// Runs the tiles of one call at a time over a fixed set of workers that sleep on a futex between
/// calls. The caller is a worker too, so a pool of one starts no thread. Not for concurrent calls.
class ThreadPool {
 public:
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
  void run_erased(std::int64_t tiles, int threads, Call call, void* context);
  void work();
  void serve(int worker);

  std::vector<std::thread> workers_;
  Call call_ = nullptr;
  void* context_ = nullptr;
  std::int64_t tiles_ = 0;
  int active_ = 0;                            ///< Workers that take part in this call.
  std::atomic<std::int64_t> next_{0};         ///< First tile nobody has taken.
  std::atomic<std::uint32_t> generation_{0};  ///< Calls so far; workers wait on it.
  std::atomic<int> running_{0};               ///< Workers that have not finished this call.
  std::atomic<bool> stopping_{false};
};

}  // namespace sluice::engine
