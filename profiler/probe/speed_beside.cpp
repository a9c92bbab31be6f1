#include "profiler/probe/speed_beside.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "profiler/probe/sampling.hpp"

namespace sluice::profiler {

planner::Fact speed_beside(const Load& load, const Load& other, Seconds budget,
                           const std::string& note) {
  constexpr int kRepetitions = 5;
  Samples ratios;
  for (int i = 0; i < kRepetitions; ++i) {
    const double alone = median(time_repeatedly(Timer::thread, budget / (2 * kRepetitions), load));
    std::atomic<bool> stop{false};
    std::thread beside([&] {
      while (!stop.load(std::memory_order_relaxed)) other();
    });
    const double together =
        median(time_repeatedly(Timer::thread, budget / (2 * kRepetitions), load));
    stop.store(true);
    beside.join();
    ratios.push_back(std::min(1.0, alone / together));
  }
  return measured_fact(ratios, note);
}

}  // namespace sluice::profiler
