#include "profiler/probe/memory_bench.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
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

UpdateBench::UpdateBench(std::int64_t parameters, int threads)
    : high_(static_cast<std::size_t>(parameters)),
      low_(high_.size()),
      m_(high_.size()),
      v_(high_.size()),
      gradient_(high_.size()),
      pool_(threads),
      threads_(threads) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 1e-3F);
  for (float& g : gradient_) g = normal(random);
}

void UpdateBench::update() {
  const engine::AdamWOperands operands{high_.data(), low_.data(), m_.data(), v_.data(),
                                       gradient_.data()};
  const engine::AdamWSpan span{0, parameters(), true};
  const engine::AdamWStep step = engine::adamw_step({}, 1e-6, 10, 1.0F);
  engine::adamw_update(operands, std::span(&span, 1), step, pool_, threads_);
}

std::vector<double> hand_off_times(int count) {
  std::atomic<int> turn{0};
  std::thread partner([&] {
    for (int i = 0; i < count; ++i) {
      turn.wait(2 * i);
      turn.store(2 * i + 2);
      turn.notify_one();
    }
  });
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    // Both sides must be asleep, as lanes are: the pause lets the partner get there.
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    const auto start = std::chrono::steady_clock::now();
    turn.store(2 * i + 1);
    turn.notify_one();
    turn.wait(2 * i + 1);
    const Seconds round_trip = std::chrono::steady_clock::now() - start;
    times.push_back(round_trip.count() / 2);
  }
  partner.join();
  return times;
}

}  // namespace sluice::profiler
