#include "stopwatch.hpp"

#include <algorithm>
#include <thread>

#include "check.hpp"

namespace sluice::several_gpus {
namespace {

struct Snapshot {
  Clock::time_point at;
  std::array<std::uint64_t, kLoads> counted;
};

Snapshot snapshot(const Rank& rank) { return {Clock::now(), rank.board.counted()}; }

Rates between(const Snapshot& from, const Snapshot& to) {
  const double seconds = std::chrono::duration<double>(to.at - from.at).count();
  Rates rates{};
  for (int load = 0; load < kLoads; ++load) {
    rates[load] = static_cast<double>(to.counted[load] - from.counted[load]) / seconds / 1e9;
  }
  return rates;
}

}  // namespace

Stopwatch::Stopwatch(const Rank& rank, cudaStream_t stream) : rank_(rank), stream_(stream) {
  check(cudaEventCreate(&start_), "event");
  check(cudaEventCreate(&stop_), "event");
  for (cudaEvent_t& event : ring_) {
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "event");
  }
}

Measured Stopwatch::calls(int calls, const std::function<void()>& enqueue) {
  rank_.board.meet();
  const Snapshot before = snapshot(rank_);
  check(cudaEventRecord(start_, stream_), "record");
  for (int call = 0; call < calls; ++call) {
    cudaEvent_t event = ring_[call % kAhead];
    if (call >= kAhead) check(cudaEventSynchronize(event), "wait for a call");
    enqueue();
    check(cudaEventRecord(event, stream_), "record");
  }
  check(cudaEventRecord(stop_, stream_), "record");
  check(cudaEventSynchronize(stop_), "wait for the last call");
  const Snapshot after = snapshot(rank_);
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, start_, stop_), "elapsed");
  return {rank_.board.most(rank_.id, milliseconds / 1e3 / calls), between(before, after)};
}

Measured Stopwatch::over(double window, const std::function<void()>& enqueue) {
  calls(2, enqueue);
  const double once = calls(3, enqueue).seconds;
  return calls(static_cast<int>(std::clamp(window / once, 3.0, 1000.0)), enqueue);
}

void start_loads(const Rank& rank, unsigned loads) {
  rank.board.meet();
  rank.board.loads.store(loads);
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  rank.board.meet();
}

Rates rates_alone(const Rank& rank, double window) {
  rank.board.meet();
  const Snapshot before = snapshot(rank);
  std::this_thread::sleep_for(std::chrono::duration<double>(window));
  const Rates rates = between(before, snapshot(rank));
  rank.board.meet();
  return rates;
}

}  // namespace sluice::several_gpus
