// What the machine's memory gives: the yardstick of updates that are bound by it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/optimizer/thread_pool.hpp"

namespace sluice::engine::bench {

/// Zeroed memory in huge pages where the system has them; not resident until it is used.
class HugeMemory {
 public:
  explicit HugeMemory(std::int64_t bytes);  ///< Throws std::bad_alloc.
  HugeMemory(const HugeMemory&) = delete;   // One mapping, one owner.
  HugeMemory& operator=(const HugeMemory&) = delete;
  ~HugeMemory();
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  std::byte* mapping_;
  std::size_t mapped_;
  std::byte* data_;  ///< Address of the memory, at a huge page's start.
};

/// a[i] = b[i] + s c[i] with stores past the caches: 12 bytes an element, as STREAM counts. Arrays
/// begin at cache lines.
void triad(std::span<float> a, const float* b, const float* c, float s, ThreadPool& pool,
           int threads);

/// Sum of the elements of a, which reads 4 bytes each.
[[nodiscard]] float sum(std::span<const float> a, ThreadPool& pool, int threads);

/// The processor's name.
[[nodiscard]] std::string processor();
/// Text about how much of this process lies in huge pages; "unknown" if the system does not say.
[[nodiscard]] std::string huge_pages();

}  // namespace sluice::engine::bench
