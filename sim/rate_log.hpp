// What rate each task ran at, and when: for accounting, counters in trace files, and tests.
#pragma once

#include <vector>

#include "sim/frozen_graph.hpp"
#include "sim/simulate.hpp"

namespace sluice::sim {

/// From `at` plus `fraction_ns` (below one nanosecond, where a latency ends between instants) the
/// task runs at `rate`, until its next change or its end. Fixed times have rate 1 where nothing
/// slows them.
struct RateChange {
  TaskId task;
  Instant at;
  double fraction_ns;
  Rate rate;
};

/// As simulate(), and appends every change of a rate, in order of time.
[[nodiscard]] Timeline simulate(const FrozenGraph& graph, std::vector<RateChange>& log);

/// How much of one link is in use from an instant on.
struct LinkUse {
  LinkId link;
  Instant at;
  Rate used;
};

/// The use of every link at each instant where it changes, in order of time.
[[nodiscard]] std::vector<LinkUse> link_use(const TaskGraph& graph);

}  // namespace sluice::sim
