#include "engine/memory/parallel_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "sim/error.hpp"

namespace sluice::engine {

namespace {

/// Calls part(begin, bytes) for parts that cover `bytes`, on several threads.
template <class Part>
void in_parts(std::size_t bytes, const Part& part) {
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kWorthAThread = std::size_t{16} << 20;  // Work of a millisecond or more.
  const std::size_t threads = std::clamp<std::size_t>(
      bytes / kWorthAThread, 1, std::max(1U, std::thread::hardware_concurrency()));
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

std::shared_ptr<std::byte> map_present(std::size_t bytes) {
  void* mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    throw EnvironmentError("cannot map " + std::to_string(bytes) +
                           " bytes of host memory: " + std::strerror(errno));
  }
  (void)madvise(mapping, bytes, MADV_HUGEPAGE);  // Only advice: huge pages are faster to touch.
  std::shared_ptr<std::byte> memory(static_cast<std::byte*>(mapping),
                                    [bytes](std::byte* data) { munmap(data, bytes); });
  zero_in_parallel(memory.get(), bytes);
  return memory;
}

}  // namespace sluice::engine
