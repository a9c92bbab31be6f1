// Random graphs from a seed, with everything a graph can have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/simulate.hpp"

namespace sluice::sim {

/// What may differ from one draw to the next.
struct RandomGraphOptions {
  std::uint32_t tasks = 40;
  bool pools = true;
  bool interference = true;
  bool boost = false;     ///< Lanes that rest; half of their tasks without links boost.
  bool fractions = true;  ///< Amounts and latencies off the nanosecond, beside round ones.
};

/// Never a cycle: tasks follow only earlier ones. May deadlock on a pool.
[[nodiscard]] TaskGraph random_graph(std::uint64_t seed, const RandomGraphOptions& options = {});

/// Spans in nanoseconds, or the refusal: comparable in one assertion.
struct Outcome {
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;
  bool deadlock = false;
  bool operator==(const Outcome&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Outcome& outcome);

[[nodiscard]] Outcome outcome(const TaskGraph& graph);
[[nodiscard]] Outcome outcome(const Timeline& timeline);

}  // namespace sluice::sim
