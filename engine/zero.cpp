#include "engine/zero.hpp"

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

namespace sluice::engine {

void zero_in_parallel(std::byte* data, std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  const std::size_t threads =
      std::clamp<std::size_t>(bytes >> 28, 1, std::max(1U, std::thread::hardware_concurrency()));
  const std::size_t part = (bytes / threads + kPage - 1) / kPage * kPage;
  std::vector<std::thread> workers;
  for (std::size_t begin = part; begin < bytes; begin += part) {
    workers.emplace_back([=] { std::memset(data + begin, 0, std::min(part, bytes - begin)); });
  }
  if (bytes > 0) std::memset(data, 0, std::min(part, bytes));
  for (std::thread& worker : workers) worker.join();
}

}  // namespace sluice::engine
