// Predicted durations of a run: of its steps, evaluations and saves.
#pragma once

#include <cstdint>

#include "engine/datasets/data.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/requests/saving_plan.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::profiler {

/// Predicted durations of the part of a run after its first `first_step` steps.
struct RunTimes {
  Seconds training{0};
  /// Time of all evaluations, estimated from the fact that forward passes are a third of a step's
  /// compute.
  Seconds evaluation{0};
  Seconds saving{0};  ///< Time for which training pauses for all saves, the last one included.
  std::int64_t evaluations = 0;
  [[nodiscard]] Seconds all() const { return training + evaluation + saving; }
};
/// Predicted durations of the run's part after step `first_step`; `validation_windows` is the
/// number of windows that there are to evaluate on.
[[nodiscard]] RunTimes run_times(const planner::RunConfig& config, const planner::Job& job,
                                 const planner::Prediction& prediction,
                                 const planner::SavingPlan& saving, std::int64_t validation_windows,
                                 std::int64_t first_step);
[[nodiscard]] RunTimes run_times(const planner::RunConfig& config, const planner::Job& job,
                                 const planner::Prediction& prediction,
                                 const planner::SavingPlan& saving,
                                 const engine::WindowedText& text, std::int64_t first_step);

}  // namespace sluice::profiler
