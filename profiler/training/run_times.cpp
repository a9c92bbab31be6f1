#include "profiler/training/run_times.hpp"

#include <algorithm>

#include "profiler/training/traced_steps.hpp"

namespace sluice::profiler {

RunTimes run_times(const planner::RunConfig& config, const planner::Job& job,
                   const planner::Prediction& prediction, const planner::SavingPlan& saving,
                   std::int64_t validation_windows, std::int64_t first_step) {
  RunTimes times;
  times.training = to_seconds(prediction.step) * static_cast<double>(config.steps - first_step);
  const engine::TrainingStops stops = stops_of(config);
  times.evaluations = 1;  // The evaluation at the start.
  for (std::int64_t step = first_step; step < config.steps;) {
    step = stops.next(step);
    if (stops.evaluates_at(step)) ++times.evaluations;
    if (stops.saves_at(step)) times.saving += saving.stall;
  }
  times.saving += saving.write;
  const std::int64_t windows = std::min(evaluation_windows(job), validation_windows);
  const double steps_worth =
      static_cast<double>(windows) / static_cast<double>(std::max<std::int64_t>(1, job.batch_size));
  constexpr double kForwardShare = 1.0 / 3;
  times.evaluation = to_seconds(prediction.stalls.compute) *
                     (kForwardShare * steps_worth * static_cast<double>(times.evaluations));
  return times;
}

RunTimes run_times(const planner::RunConfig& config, const planner::Job& job,
                   const planner::Prediction& prediction, const planner::SavingPlan& saving,
                   const engine::WindowedText& text, std::int64_t first_step) {
  return run_times(config, job, prediction, saving, text.validation_windows(), first_step);
}

}  // namespace sluice::profiler
