// Which steps of a run are traced.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/training/trainer.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::profiler {

/// Steps of the measured trace: a graph's three.
inline constexpr std::int64_t kTracedSteps = 3;
/// Steps in a row of which three overlap with their neighbours as they do ever after.
inline constexpr std::int64_t kUnbrokenSteps = kTracedSteps + 2;

/// After which steps of a run there is an evaluation or a save.
[[nodiscard]] engine::TrainingStops stops_of(const planner::RunConfig& config);
/// Windows of an evaluation, at most.
[[nodiscard]] std::int64_t evaluation_windows(const planner::Job& job);

/// The first step that is traced, counted from where the session starts after `start` steps: in the
/// middle of the first chunk between stops that is long enough for steps to overlap as they do ever
/// after, else of the longest.
[[nodiscard]] std::int64_t first_traced(const engine::TrainingStops& stops, std::int64_t start);
/// Traced steps, numbered as the session does, that the run stops after.
[[nodiscard]] std::vector<std::int64_t> traced_stops(const engine::TrainingStops& stops,
                                                     std::int64_t start, std::int64_t first);

}  // namespace sluice::profiler
