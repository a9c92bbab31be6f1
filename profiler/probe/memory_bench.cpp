#include "profiler/probe/memory_bench.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

namespace sluice::profiler {

CopyBench::CopyBench(Bytes bytes, int threads)
    : source_(static_cast<std::size_t>(bytes.count()), std::byte{1}),
      destination_(source_.size()),
      pool_(threads) {}

void CopyBench::copy() {
  const std::size_t share = source_.size() / static_cast<std::size_t>(pool_.threads());
  auto tile = [&](std::int64_t i) {
    const std::size_t begin = static_cast<std::size_t>(i) * share;
    std::memcpy(destination_.data() + begin, source_.data() + begin, share);
  };
  pool_.run(pool_.threads(), pool_.threads(), tile);
}

void CopyBench::paced(const engine::LinkPace& pace) {
  engine::paced_copy(source_, destination_, pace);
}

UpdateBench::UpdateBench(std::int64_t parameters, int threads, ProbeMemory* supply)
    : parameters_(parameters),
      high_(Bytes(2 * parameters), supply),
      low_(Bytes(2 * parameters), supply),
      m_(Bytes(4 * parameters), supply),
      v_(Bytes(4 * parameters), supply),
      gradient_(Bytes(4 * parameters), supply),
      pool_(threads) {
  const auto fill = [this](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const std::uint64_t bits = mixed(static_cast<std::uint64_t>(i));
      // Weights within 0.01 to 0.04 of either sign, and gradients of some thousandths; never zero.
      high_.as<std::uint16_t>()[at] = static_cast<std::uint16_t>(0x3C00U | (bits & 0x80FFU));
      low_.as<std::uint16_t>()[at] = static_cast<std::uint16_t>(bits >> 16U);
      const auto whole = static_cast<float>((bits >> 32U) & 0xFFFFU);
      gradient_.as<float>()[at] = (whole - 32767.5F) * 1e-7F;
      m_.as<float>()[at] = 0.1F * gradient_.as<float>()[at];
      v_.as<float>()[at] = 1e-6F;
    }
  };
  auto tile = [&](std::int64_t block) {
    const std::int64_t begin = block * engine::kUpdateBlock;
    fill(begin, std::min(begin + engine::kUpdateBlock, parameters_));
  };
  pool_.run((parameters + engine::kUpdateBlock - 1) / engine::kUpdateBlock, threads, tile);
}

void UpdateBench::update(int threads) {
  const engine::AdamWOperands operands{high_.as<std::uint16_t>().data(),
                                       low_.as<std::uint16_t>().data(), m_.as<float>().data(),
                                       v_.as<float>().data(), gradient_.as<float>().data()};
  const engine::AdamWSpan span{0, parameters_, true};
  const engine::AdamWStep step = engine::adamw_step({}, 1e-6, 10, 1.0F);
  engine::adamw_update(operands, std::span(&span, 1), step, pool_, threads);
}

namespace {

constexpr std::int64_t kTileFloats = 65536;

void triad_tile(float* a, const float* b, const float* c, std::int64_t n) {
  constexpr float kScale = 0.5F;
  std::int64_t i = 0;
#if defined(__SSE2__)
  const __m128 scale = _mm_set1_ps(kScale);
  for (; i + 4 <= n; i += 4) {
    _mm_stream_ps(a + i, _mm_add_ps(_mm_load_ps(b + i), _mm_mul_ps(scale, _mm_load_ps(c + i))));
  }
  _mm_sfence();
#endif
  for (; i < n; ++i) a[i] = b[i] + kScale * c[i];
}

/// Sum of n words in several chains, to hide an addition's latency.
std::uint64_t sum_tile(const std::uint64_t* words, std::int64_t n) {
  std::array<std::uint64_t, 8> sums{};
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (std::int64_t k = 0; k < 8; ++k) sums[static_cast<std::size_t>(k)] += words[i + k];
  }
  for (; i < n; ++i) sums[0] += words[i];
  std::uint64_t total = 0;
  for (const std::uint64_t sum : sums) total += sum;
  return total;
}

std::int64_t tiles_of(std::int64_t floats) { return (floats + kTileFloats - 1) / kTileFloats; }

}  // namespace

DramBench::DramBench(Bytes bytes, int threads, ProbeMemory* supply)
    : a_(bytes, supply), b_(bytes, supply), c_(bytes, supply), pool_(threads) {
  const auto count = static_cast<std::int64_t>(a_.as<float>().size());
  auto tile = [&](std::int64_t block) {
    const std::int64_t end = std::min((block + 1) * kTileFloats, count);
    for (std::int64_t i = block * kTileFloats; i < end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const auto value = static_cast<float>(mixed(static_cast<std::uint64_t>(i)) & 0xFFFFU) + 1.0F;
      a_.as<float>()[at] = value;
      b_.as<float>()[at] = 0.5F * value;
      c_.as<float>()[at] = 0.25F * value;
    }
  };
  pool_.run(tiles_of(count), threads, tile);
}

void DramBench::read(int threads) {
  const auto words = a_.as<std::uint64_t>();
  const auto count = static_cast<std::int64_t>(words.size());
  constexpr std::int64_t kTileWords = kTileFloats / 2;
  std::atomic<std::uint64_t> total{0};
  auto tile = [&](std::int64_t block) {
    const std::int64_t at = block * kTileWords;
    total.fetch_add(sum_tile(words.data() + at, std::min(kTileWords, count - at)),
                    std::memory_order_relaxed);
  };
  pool_.run((count + kTileWords - 1) / kTileWords, threads, tile);
  sum_ += total.load();
}

void DramBench::triad(int threads) {
  const auto a = a_.as<float>();
  const auto count = static_cast<std::int64_t>(a.size());
  auto tile = [&](std::int64_t block) {
    const std::int64_t at = block * kTileFloats;
    triad_tile(a.data() + at, b_.as<float>().data() + at, c_.as<float>().data() + at,
               std::min(kTileFloats, count - at));
  };
  pool_.run(tiles_of(count), threads, tile);
}

std::vector<double> hand_off_times(int count) {
  std::atomic<int> signal{0};
  std::thread partner([&] {
    for (int i = 0; i < count; ++i) {
      signal.wait(2 * i);
      signal.store(2 * i + 2);
      signal.notify_one();
    }
  });
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    // Both sides must be asleep, as lanes are: the pause lets the partner get there.
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    const auto start = std::chrono::steady_clock::now();
    signal.store(2 * i + 1);
    signal.notify_one();
    signal.wait(2 * i + 1);
    const Seconds round_trip = std::chrono::steady_clock::now() - start;
    times.push_back(round_trip.count() / 2);
  }
  partner.join();
  return times;
}

}  // namespace sluice::profiler
