// Queue of work that a few threads do in the order in which it was added.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace sluice::planner {

/// Work with results of one type, on threads of its own. The destructor drops what was not begun
/// and waits for what was.
template <class Result>
class WorkQueue {
 public:
  explicit WorkQueue(std::int64_t threads) {
    for (std::int64_t i = 0; i < std::max<std::int64_t>(1, threads); ++i) {
      workers_.emplace_back([this](const std::stop_token& stop) { run(stop); });
    }
  }

  /// Adds `work` behind all other; the future has its result or what it threw.
  [[nodiscard]] std::future<Result> add(std::function<Result()> work) {
    std::packaged_task<Result()> task(std::move(work));
    std::future<Result> result = task.get_future();
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(task));
    }
    added_.notify_one();
    return result;
  }

 private:
  void run(const std::stop_token& stop) {
    while (true) {
      std::packaged_task<Result()> task;
      {
        std::unique_lock lock(mutex_);
        added_.wait(lock, stop, [this] { return !waiting_.empty(); });
        if (stop.stop_requested()) return;
        task = std::move(waiting_.front());
        waiting_.pop_front();
      }
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any added_;
  std::deque<std::packaged_task<Result()>> waiting_;
  std::vector<std::jthread> workers_;  ///< Last, so that they end before what they use.
};

}  // namespace sluice::planner
