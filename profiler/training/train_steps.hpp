// The steps of `sluice train`: what happens between a plan and a result.
#pragma once

#include "profiler/training/train_state.hpp"
#include "profiler/training/trained_run.hpp"
#include "cli/words/interrupt.hpp"
#include "engine/datasets/data.hpp"
#include "engine/records/run_folder.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::cli {

/// Steps of the measured trace: a graph's three.
inline constexpr std::int64_t kTracedSteps = 3;
/// Steps in a row of which three overlap with their neighbours as they do ever after.
inline constexpr std::int64_t kUnbrokenSteps = kTracedSteps + 2;

/// After which steps of a run there is an evaluation or a save.
[[nodiscard]] engine::TrainingStops stops_of(const planner::RunConfig& config);
/// Windows of an evaluation, at most.
[[nodiscard]] std::int64_t evaluation_windows(const planner::Job& job);

/// How `sluice train` was asked to go about it.
struct TrainOptions {
  bool json = false;
  bool checkpoint = true;  ///< Write any.
};

/// What a run is made of; all of it outlives the run.
struct TrainParts {
  const planner::ResolvedMachine& machine;
  engine::WindowedText& text;
  const engine::RunFolder& folder;
  const RunStart& start;
  const RunIdentity& identity;
  const InterruptFlag& interrupt;
  engine::RunBeginning& beginning;
};

/// Trains and fills in what `run` lacks. Throws what training throws; where a run diverges the line
/// names its last checkpoint.
void train_run(TrainedRun& run, const TrainParts& parts, const TrainOptions& options);

}  // namespace sluice::cli
