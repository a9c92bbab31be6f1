#include "profiler/training/traced_steps.hpp"

#include <algorithm>

namespace sluice::profiler {
namespace {

/// Defaults for evaluations: their number in a run besides the one at the start, and their largest
/// size in steps' worth of tokens.
constexpr std::int64_t kEvaluations = 4;
constexpr std::int64_t kEvaluationSteps = 8;

}  // namespace

engine::TrainingStops stops_of(const planner::RunConfig& config) {
  const std::int64_t quarter = std::min(
      config.steps, std::max(kTracedSteps, (config.steps + kEvaluations - 1) / kEvaluations));
  return {.steps = config.steps,
          .evaluate_every = config.evaluate_every.value_or(quarter),
          .save_every = config.save_every,
          .evaluate_saves = config.keep_best};
}

std::int64_t evaluation_windows(const planner::Job& job) {
  return kEvaluationSteps * job.batch_size;
}

std::int64_t first_traced(const engine::TrainingStops& stops, std::int64_t start) {
  constexpr int kChunks = 100;
  std::int64_t begin = start;
  std::int64_t longest = 0;
  std::int64_t from = start;
  for (int i = 0; i < kChunks && from < stops.steps && longest < kUnbrokenSteps; ++i) {
    const std::int64_t to = stops.next(from);
    if (to - from > longest) {
      longest = to - from;
      begin = from;
    }
    from = to;
  }
  const std::int64_t within =
      std::max<std::int64_t>(1, std::min(longest / 2, longest - (kTracedSteps - 1)));
  const std::int64_t last_possible = stops.steps - start - (kTracedSteps - 1);
  return std::clamp<std::int64_t>(begin - start + within, 1,
                                  std::max<std::int64_t>(1, last_possible));
}

std::vector<std::int64_t> traced_stops(const engine::TrainingStops& stops, std::int64_t start,
                                       std::int64_t first) {
  std::vector<std::int64_t> found;
  for (std::int64_t step = first; step < first + kTracedSteps - 1; ++step) {
    if (stops.next(start + step - 1) == start + step) found.push_back(step);
  }
  return found;
}

}  // namespace sluice::profiler
