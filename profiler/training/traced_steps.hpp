// Steps of a run that are traced, and steps after which it evaluates or saves.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/training/trainer.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::profiler {

/// Number of steps in the measured trace, as many as a step graph has.
inline constexpr std::int64_t kTracedSteps = 3;
/// Number of consecutive steps after which three have overlapped with both neighbours, as all later
/// steps do.
inline constexpr std::int64_t kUnbrokenSteps = kTracedSteps + 2;

/// Steps of a run after which there is an evaluation or a save.
[[nodiscard]] engine::TrainingStops stops_of(const planner::RunConfig& config);
/// Largest number of windows of an evaluation.
[[nodiscard]] std::int64_t evaluation_windows(const planner::Job& job);

/// First of the traced steps, counted from the session's start after `start` steps: in the middle
/// of the first chunk between stops that is long enough for steps to overlap as all later ones do,
/// else in the longest chunk.
[[nodiscard]] std::int64_t first_traced(const engine::TrainingStops& stops, std::int64_t start);
/// Those of the traced steps, numbered as in the session, after which the run stops.
[[nodiscard]] std::vector<std::int64_t> traced_stops(const engine::TrainingStops& stops,
                                                     std::int64_t start, std::int64_t first);

}  // namespace sluice::profiler
