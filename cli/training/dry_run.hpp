// `sluice train --dry-run`: what a run would be, without a run.
#pragma once

#include <string>

#include "engine/datasets/data.hpp"
#include "planner/requests/choose_plan.hpp"
#include "planner/requests/saving_plan.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::cli {

/// Times of a run that goes on after `first_step` steps, predicted.
struct RunTimes {
  Seconds training{0};
  Seconds evaluation{0};  ///< Estimated: forward is a third of a step's compute.
  Seconds saving{0};      ///< Training stands still for saves, the last one included.
  std::int64_t evaluations = 0;
  [[nodiscard]] Seconds all() const { return training + evaluation + saving; }
};
[[nodiscard]] RunTimes run_times(const planner::RunConfig& config, const planner::Job& job,
                                 const planner::Prediction& prediction,
                                 const planner::SavingPlan& saving,
                                 const engine::WindowedText& text, std::int64_t first_step);

/// For people: how long, and what checkpoints cost.
[[nodiscard]] std::string times_table(const planner::RunConfig& config, const RunTimes& times,
                                      std::int64_t first_step);
[[nodiscard]] std::string saving_table(const planner::RunConfig& config,
                                       const planner::SavingPlan& saving);
/// docs/schemas/dry-run.schema.json.
[[nodiscard]] std::string dry_run_json(const planner::RunConfig& config, const planner::Job& job,
                                       const planner::ChosenPlan& plan,
                                       const planner::SavingPlan& saving, const RunTimes& times,
                                       std::int64_t first_step);

/// Bytes free on the file system that `path`, or the nearest folder above it that is there, is on.
[[nodiscard]] std::optional<Bytes> free_disk(const std::filesystem::path& path);

}  // namespace sluice::cli
