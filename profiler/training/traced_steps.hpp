// Choice of the steps of a run that are traced, and of steps after which it evaluates or saves.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/training/trainer.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::profiler {

/// Number of steps in the measured trace, as many as a step graph has.
inline constexpr std::int64_t kTracedSteps = 3;
/// Number of consecutive steps of which three, those with a neighbour on both sides, overlap with
/// both neighbours as all later steps do.
inline constexpr std::int64_t kUnbrokenSteps = kTracedSteps + 2;

/// Steps of the run after which there is an evaluation or a save.
[[nodiscard]] engine::TrainingStops stops_of(const planner::RunConfig& config);
/// Largest number of windows of text that one evaluation reads.
[[nodiscard]] std::int64_t evaluation_windows(const planner::Job& job);

/// Number of the first traced step, counted from 1 after the `start` steps that precede this
/// session: in the middle of the first chunk between stops that is long enough for steps to overlap
/// as all later ones do, else in the longest chunk.
[[nodiscard]] std::int64_t first_traced(const engine::TrainingStops& stops, std::int64_t start);
/// Those of the kTracedSteps steps from `first` on after which the run stops to evaluate or save;
/// numbered as `first`, and without the last step, behind which it does not matter.
[[nodiscard]] std::vector<std::int64_t> traced_stops(const engine::TrainingStops& stops,
                                                     std::int64_t start, std::int64_t first);

}  // namespace sluice::profiler
