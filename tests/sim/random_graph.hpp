// Random graphs from a seed, with every feature that a graph can have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/simulate.hpp"

namespace sluice::sim {

/// Features of random graphs that can be switched.
struct RandomGraphOptions {
  std::uint32_t tasks = 40;
  std::uint32_t most_lanes = 6;
  bool pools = true;
  bool interference = true;
  /// Lanes whose tasks run faster after rest; half of their tasks without links do.
  bool boost = false;
  /// Amounts and latencies that are not whole nanoseconds, besides those that are.
  bool fractions = true;
};

/// A random graph. It has no cycle, because tasks follow only earlier ones, but may deadlock on a
/// pool.
[[nodiscard]] TaskGraph random_graph(std::uint64_t seed, const RandomGraphOptions& options = {});

/// Outcome of a simulation, comparable in one assertion: start and end of each task in nanoseconds,
/// or the deadlock.
struct Outcome {
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;
  bool deadlock = false;
  bool operator==(const Outcome&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Outcome& outcome);

[[nodiscard]] Outcome outcome(const TaskGraph& graph);
[[nodiscard]] Outcome outcome(const Timeline& timeline);

}  // namespace sluice::sim
