#include "experiments/cpu_optimizer/dram_bench.hpp"

#include <immintrin.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <new>

namespace sluice::engine::bench {
namespace {

constexpr std::size_t kHuge = std::size_t{2} << 20;
constexpr std::int64_t kBlock = 65536;

__attribute__((target("avx2,fma"))) void triad_block(float* a, const float* b, const float* c,
                                                     float s, std::int64_t n) {
  const __m256 scale = _mm256_set1_ps(s);
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m256 x = _mm256_fmadd_ps(scale, _mm256_loadu_ps(c + i), _mm256_loadu_ps(b + i));
    const __m256 y = _mm256_fmadd_ps(scale, _mm256_loadu_ps(c + i + 8), _mm256_loadu_ps(b + i + 8));
    _mm256_stream_ps(a + i, x);
    _mm256_stream_ps(a + i + 8, y);
  }
  for (; i < n; ++i) a[i] = b[i] + s * c[i];
  _mm_sfence();
}

__attribute__((target("avx2"))) float sum_block(const float* a, std::int64_t n) {
  __m256 sums[4] = {};
  for (std::int64_t i = 0; i + 32 <= n; i += 32) {
    for (int k = 0; k < 4; ++k) sums[k] = _mm256_add_ps(sums[k], _mm256_loadu_ps(a + i + 8 * k));
  }
  const __m256 all =
      _mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3]));
  float lanes[8];
  _mm256_storeu_ps(lanes, all);
  float total = 0;
  for (const float lane : lanes) total += lane;
  return total;
}

/// The value behind "name :" in a file of /proc.
std::string field(const char* file, const std::string& name) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(name)) continue;
    const auto value = line.find_first_not_of(" \t:", name.size());
    return value == std::string::npos ? "" : line.substr(value);
  }
  return "unknown";
}

}  // namespace

HugeMemory::HugeMemory(std::int64_t bytes) : mapped_(static_cast<std::size_t>(bytes) + kHuge) {
  void* mapping =
      mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<std::byte*>(mapping);
  data_ = mapping_ + (kHuge - reinterpret_cast<std::uintptr_t>(mapping_) % kHuge) % kHuge;
  madvise(data_, mapped_ - kHuge, MADV_HUGEPAGE);  // A wish: huge_pages() says what came of it.
}

HugeMemory::~HugeMemory() { munmap(mapping_, mapped_); }

void triad(std::span<float> a, const float* b, const float* c, float s, ThreadPool& pool,
           int threads) {
  const auto n = static_cast<std::int64_t>(a.size());
  auto tile = [&](std::int64_t block) {
    const std::int64_t at = block * kBlock;
    triad_block(a.data() + at, b + at, c + at, s, std::min(kBlock, n - at));
  };
  pool.run((n + kBlock - 1) / kBlock, threads, tile);
}

float sum(std::span<const float> a, ThreadPool& pool, int threads) {
  const auto n = static_cast<std::int64_t>(a.size());
  std::atomic<float> total{0};
  auto tile = [&](std::int64_t block) {
    const std::int64_t at = block * kBlock;
    total.fetch_add(sum_block(a.data() + at, std::min(kBlock, n - at)), std::memory_order_relaxed);
  };
  pool.run((n + kBlock - 1) / kBlock, threads, tile);
  return total.load();
}

std::string processor() { return field("/proc/cpuinfo", "model name"); }

std::string huge_pages() { return field("/proc/self/smaps_rollup", "AnonHugePages"); }

}  // namespace sluice::engine::bench
