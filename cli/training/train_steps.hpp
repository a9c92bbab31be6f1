// Execution of the steps of `sluice train`, from the plan to the result.
#pragma once

#include "cli/training/train_state.hpp"
#include "cli/training/trained_run.hpp"
#include "cli/words/interrupt.hpp"
#include "engine/datasets/data.hpp"
#include "engine/records/run_folder.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::cli {

/// Number of steps in the measured trace, as many as a step graph has.
inline constexpr std::int64_t kTracedSteps = 3;
/// Number of consecutive steps after which three have overlapped with both neighbours, as all later
/// steps do.
inline constexpr std::int64_t kUnbrokenSteps = kTracedSteps + 2;

/// Steps of a run after which there is an evaluation or a save.
[[nodiscard]] engine::TrainingStops stops_of(const planner::RunConfig& config);
/// Largest number of windows of an evaluation.
[[nodiscard]] std::int64_t evaluation_windows(const planner::Job& job);

/// Flags of `sluice train` that change its course.
struct TrainOptions {
  bool json = false;
  bool checkpoint = true;  ///< Whether checkpoints are written.
};

/// Parts of a run; all of them must outlive it.
struct TrainParts {
  const planner::ResolvedMachine& machine;
  engine::WindowedText& text;
  const engine::RunFolder& folder;
  const RunStart& start;
  const RunIdentity& identity;
  const InterruptFlag& interrupt;
  engine::RunBeginning& beginning;
};

/// Trains, and fills in the missing members of `run`. Throws what training throws; if a run
/// diverges the message names its last checkpoint.
void train_run(TrainedRun& run, const TrainParts& parts, const TrainOptions& options);

}  // namespace sluice::cli
