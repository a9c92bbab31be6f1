#include "profiler/traces/run_spread.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::profiler {

void RunSpread::add(std::span<const Seconds> compute) {
  check(compute.size() == ranks_.size() && !compute.empty(), "a step has a time for each rank");
  const auto longest = std::ranges::max_element(compute) - compute.begin();
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    ranks_[rank].compute += compute[rank];
    ranks_[rank].most = std::max(ranks_[rank].most, compute[rank]);
  }
  ++ranks_[static_cast<std::size_t>(longest)].longest_in;
  ++steps_;
}

std::vector<RankOfRun> RunSpread::ranks() const {
  std::vector<RankOfRun> means = ranks_;
  for (RankOfRun& each : means) {
    each.compute = each.compute / static_cast<double>(std::max<std::int64_t>(steps_, 1));
  }
  return means;
}

std::string run_spread_text(std::span<const RankOfRun> ranks) {
  std::int64_t steps = 0;  // In each of which one rank computes longest.
  for (const RankOfRun& each : ranks) steps += each.longest_in;
  const auto [least, most] = std::ranges::minmax_element(ranks, {}, &RankOfRun::compute);
  const auto often = std::ranges::max_element(ranks, {}, &RankOfRun::longest_in);
  return fmt::format("compute {} to {} a step over all {} steps; rank {} longest in {} of them",
                     planner::format_seconds(least->compute),
                     planner::format_seconds(most->compute), steps, often - ranks.begin(),
                     often->longest_in);
}

}  // namespace sluice::profiler
