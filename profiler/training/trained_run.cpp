#include "profiler/training/trained_run.hpp"

#include <algorithm>

namespace sluice::profiler {

std::optional<Seconds> SavesDone::median_stall() const {
  if (stalls.empty()) return std::nullopt;
  std::vector<Seconds> sorted = stalls;
  std::ranges::sort(sorted);
  return sorted[sorted.size() / 2];
}

TokenRates TrainedRun::token_rates() const {
  const std::int64_t all = result.useful_tokens + result.padding_tokens;
  if (all == 0) return {};
  TokenRates rates;
  rates.padded_fraction = static_cast<double>(result.padding_tokens) / static_cast<double>(all);
  if (const std::optional<Seconds> step = result.median_step()) {
    const double every = static_cast<double>(job.tokens()) / step->count();
    rates.padded = every * rates.padded_fraction;
    rates.useful = every - *rates.padded;
  }
  return rates;
}

double TrainedRun::written_share() const {
  return static_cast<double>((disk_written + checkpoints_written()).count()) / endurance;
}

}  // namespace sluice::profiler
