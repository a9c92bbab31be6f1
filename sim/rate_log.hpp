// Log of the rate of every task over time, for accounting, counters in trace files, and tests.
#pragma once

#include <vector>

#include "sim/frozen_graph.hpp"
#include "sim/simulate.hpp"

namespace sluice::sim {

/// A change of a task's rate: from `at` plus `fraction_ns` (0 to below 1 nanosecond; not 0 if a
/// latency ends between instants) the task runs at `rate` until its next change or its end. Fixed
/// times have rate 1 unless something slows them.
struct RateChange {
  TaskId task;
  Instant at;
  double fraction_ns;
  Rate rate;
};

/// Simulates as simulate() does, and appends every change of a task's rate to `log`, in order of
/// time.
[[nodiscard]] Timeline simulate(const FrozenGraph& graph, std::vector<RateChange>& log);

/// Use of one link by all tasks together, from instant `at` until the link's next entry.
struct LinkUse {
  LinkId link;
  Instant at;
  Rate used;
};

/// Use of every link of `graph`, which it simulates: an entry for each link and each instant at
/// which its use changes, in order of time.
[[nodiscard]] std::vector<LinkUse> link_use(const TaskGraph& graph);

}  // namespace sluice::sim
