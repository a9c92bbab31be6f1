// What the ranks of one run did in its traced steps, beside each other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "planner/graph/step_graph.hpp"
#include "profiler/traces/recorder.hpp"

namespace sluice::profiler {

/// A rank's times in a step, means over the traced steps.
struct RankTimes {
  std::int64_t rank = 0;
  Duration step{0};         ///< Time from the end of one step to that of the next.
  Duration compute{0};      ///< Time in which the compute lane is busy.
  Duration collectives{0};  ///< Time in collectives, waits for other ranks included.
  /// How much later than the first rank it arrives at a collective, mean over all of them.
  Duration late{0};
};

/// Times of all ranks of a run.
struct RankSpread {
  std::vector<RankTimes> ranks;  ///< In ascending order.
  /// Rank for which the others wait most: the one that arrives last at most collectives.
  std::int64_t last = 0;
};

/// A rank's recorder, and how much later than the first rank's its clock began.
struct RecordedRank {
  const Recorder* recorder = nullptr;
  Duration clock{0};
};

/// Spread over `ranks` of the three steps from step `first` on of a graph of several ranks.
[[nodiscard]] RankSpread rank_spread(const planner::StepGraph& graph,
                                     std::span<const RecordedRank> ranks, std::int64_t first);

/// How much later each rank's first task of step `first` began than that of the rank that began it
/// first.
[[nodiscard]] std::vector<Duration> rank_starts(std::span<const RecordedRank> ranks,
                                                std::int64_t first);

/// The spread in a line: how far the ranks' compute times lie apart, and which rank is last.
[[nodiscard]] std::string spread_text(const RankSpread& spread);

}  // namespace sluice::profiler
