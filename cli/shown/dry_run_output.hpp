// What `sluice train --dry-run` prints: what a run would be, without a run.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "planner/requests/saving_plan.hpp"
#include "planner/runs/run_config.hpp"
#include "profiler/training/choose_plan.hpp"
#include "profiler/training/run_times.hpp"

namespace sluice::cli {

/// For people: how long, and what checkpoints cost.
[[nodiscard]] std::string times_table(const planner::RunConfig& config,
                                      const profiler::RunTimes& times, std::int64_t first_step);
[[nodiscard]] std::string saving_table(const planner::RunConfig& config,
                                       const planner::SavingPlan& saving);
/// docs/schemas/dry-run.schema.json.
[[nodiscard]] std::string dry_run_json(const planner::RunConfig& config, const planner::Job& job,
                                       const profiler::ChosenPlan& plan,
                                       const planner::SavingPlan& saving,
                                       const profiler::RunTimes& times, std::int64_t first_step);

/// Bytes free on the file system that `path`, or the nearest folder above it that is there, is on.
[[nodiscard]] std::optional<Bytes> free_disk(const std::filesystem::path& path);

}  // namespace sluice::cli
