// Output of `sluice train --dry-run`: what a run would do and take, without running it.
#pragma once

#include <string>

#include "cli/training/choose_plan.hpp"
#include "engine/datasets/data.hpp"
#include "planner/requests/saving_plan.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::cli {

/// Predicted times of a run that continues after `first_step` steps.
struct RunTimes {
  Seconds training{0};
  Seconds evaluation{0};  ///< Estimated from the fact that forward is a third of a step's compute.
  Seconds saving{0};      ///< Time for which training pauses for saves, the last one included.
  std::int64_t evaluations = 0;
  [[nodiscard]] Seconds all() const { return training + evaluation + saving; }
};
[[nodiscard]] RunTimes run_times(const planner::RunConfig& config, const planner::Job& job,
                                 const planner::Prediction& prediction,
                                 const planner::SavingPlan& saving,
                                 const engine::WindowedText& text, std::int64_t first_step);

/// Text about the run's duration; saving_table has the costs of checkpoints.
[[nodiscard]] std::string times_table(const planner::RunConfig& config, const RunTimes& times,
                                      std::int64_t first_step);
[[nodiscard]] std::string saving_table(const planner::RunConfig& config,
                                       const planner::SavingPlan& saving);
/// JSON of a dry run (docs/schemas/dry-run.schema.json).
[[nodiscard]] std::string dry_run_json(const planner::RunConfig& config, const planner::Job& job,
                                       const ChosenPlan& plan, const planner::SavingPlan& saving,
                                       const RunTimes& times, std::int64_t first_step);

/// Free bytes on the file system of `path`, or of the nearest existing folder above it.
[[nodiscard]] std::optional<Bytes> free_disk(const std::filesystem::path& path);

}  // namespace sluice::cli
