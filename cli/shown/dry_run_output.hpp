// Output of `sluice train --dry-run`: what a run would do and take, without running it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "planner/requests/choose_plan.hpp"
#include "planner/requests/saving_plan.hpp"
#include "planner/runs/run_config.hpp"
#include "profiler/training/packing_advice.hpp"
#include "profiler/training/run_times.hpp"

namespace sluice::cli {

/// Texts about what a run takes: times_table about its duration, saving_table about its
/// checkpoints.
[[nodiscard]] std::string times_table(const planner::RunConfig& config,
                                      const profiler::RunTimes& times, std::int64_t first_step);
[[nodiscard]] std::string saving_table(const planner::RunConfig& config,
                                       const planner::SavingPlan& saving);
/// JSON of a dry run (docs/schemas/dry-run.schema.json); `advice`: what packing would save, if
/// anything.
[[nodiscard]] std::string dry_run_json(const planner::RunConfig& config, const planner::Job& job,
                                       const planner::ChosenPlan& plan,
                                       const planner::SavingPlan& saving,
                                       const profiler::RunTimes& times, std::int64_t first_step,
                                       const std::optional<profiler::PackingAdvice>& advice);

/// Free bytes on the file system of `path`, or of the nearest existing folder above it; none where
/// that is not known.
[[nodiscard]] std::optional<Bytes> free_disk(const std::filesystem::path& path);

}  // namespace sluice::cli
