// What the ranks of one run computed in all of its steps, beside each other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/units.hpp"

namespace sluice::profiler {

/// A rank's share of a run.
struct RankOfRun {
  Seconds compute{0};           ///< Time in which its compute lane is busy, mean over the steps.
  Seconds most{0};              ///< The same in the step in which it is longest.
  std::int64_t longest_in = 0;  ///< Number of steps in which no other rank computes longer.
};

/// Sums over a run's steps of what each rank computes.
class RunSpread {
 public:
  explicit RunSpread(std::size_t ranks) : ranks_(ranks) {}

  /// Adds a step, in which rank i computes for `compute[i]`: a time for each rank.
  void add(std::span<const Seconds> compute);
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  /// All ranks in ascending order, means over the steps so far.
  [[nodiscard]] std::vector<RankOfRun> ranks() const;

 private:
  std::vector<RankOfRun> ranks_;  ///< With sums in place of means.
  std::int64_t steps_ = 0;
};

/// The spread over all steps in a line: how far the ranks' mean times lie apart, and which rank
/// computes longest most often.
[[nodiscard]] std::string run_spread_text(std::span<const RankOfRun> ranks);

}  // namespace sluice::profiler
