// Steps of any number of tasks, for pages and their tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "sim/trace.hpp"

namespace sluice::profiler::test {

/// Three steps of `tasks` tasks each: copies in, compute, copies out and updates, by turns, with
/// `s1/grads` to `s3/grads` at their ends. A task takes 1 ms x `pace` and up to a half more.
inline sim::Trace synthetic_trace(int tasks, double pace) {
  struct Kind {
    const char* lane;
    const char* kind;
    std::int64_t bytes;
  };
  static constexpr Kind kinds[] = {{"h2d", "load_weights", 28'000'000},
                                   {"compute", "forward", 0},
                                   {"compute", "backward", 0},
                                   {"d2h", "store_gradient", 56'000'000},
                                   {"cpu", "update", 0}};
  sim::Trace trace;
  std::uint64_t state = 7;
  std::int64_t free[5] = {};
  for (int step = 1; step <= 3; ++step) {
    for (int i = 0; i < tasks; ++i) {
      const int which = i % 5;
      const Kind& kind = kinds[which];
      state = state * 6364136223846793005u + 1442695040888963407u;
      const auto took = static_cast<std::int64_t>(
          1e6 * pace * (1 + static_cast<double>(state >> 40) / static_cast<double>(1 << 25)));
      std::int64_t& lane = free[which == 2 ? 1 : which];
      const std::int64_t start = lane;
      lane = start + took;
      trace.spans.push_back({"s" + std::to_string(step) + "/" + kind.kind + "/" + std::to_string(i),
                             kind.lane, kind.kind, Instant(Duration(start)),
                             Instant(Duration(lane)), Bytes(kind.bytes)});
    }
    const Instant end{Duration(free[1])};
    trace.spans.push_back(
        {"s" + std::to_string(step) + "/grads", "compute", "grads", end, end, Bytes(0)});
    for (std::int64_t& lane : free) lane = std::max(lane, free[1]);
  }
  return trace;
}

}  // namespace sluice::profiler::test
