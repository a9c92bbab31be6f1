// Loop over independent indices on a few threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace sluice::planner {

/// Calls `body(i)` for each i from 0 to count - 1, on up to `threads` threads including the caller,
/// and waits for all calls. If calls throw, rethrows the exception of the smallest index.
template <class Body>
void parallel_for(std::size_t count, std::int64_t threads, const Body& body) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  std::size_t failed = count;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        body(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (i < failed) failure = std::current_exception();
        failed = std::min(failed, i);
      }
    }
  };
  {
    std::vector<std::jthread> workers;
    const auto most = std::min(static_cast<std::size_t>(std::max<std::int64_t>(1, threads)), count);
    for (std::size_t i = 1; i < most; ++i) workers.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace sluice::planner
