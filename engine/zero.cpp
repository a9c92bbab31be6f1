#include "engine/zero.hpp"

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

namespace sluice::engine {

namespace {

/// part(begin, bytes) over all of `bytes`.
template <class Part>
void in_parts(std::size_t bytes, const Part& part) {
  constexpr std::size_t kPage = 4096;
  const std::size_t threads =
      std::clamp<std::size_t>(bytes >> 28, 1, std::max(1U, std::thread::hardware_concurrency()));
  const std::size_t size = (bytes / threads + kPage - 1) / kPage * kPage;
  std::vector<std::thread> workers;
  for (std::size_t begin = size; begin < bytes; begin += size) {
    workers.emplace_back([=, &part] { part(begin, std::min(size, bytes - begin)); });
  }
  if (bytes > 0) part(0, std::min(size, bytes));
  for (std::thread& worker : workers) worker.join();
}

}  // namespace

void zero_in_parallel(std::byte* data, std::size_t bytes) {
  in_parts(bytes,
           [data](std::size_t begin, std::size_t part) { std::memset(data + begin, 0, part); });
}

void copy_in_parallel(const std::byte* source, std::byte* destination, std::size_t bytes) {
  in_parts(bytes, [source, destination](std::size_t begin, std::size_t part) {
    std::memcpy(destination + begin, source + begin, part);
  });
}

}  // namespace sluice::engine
