// `sluice train` as one of several processes that a launcher started.
#pragma once

#include <functional>

#include "cli/words/interrupt.hpp"
#include "engine/launch/launch.hpp"
#include "planner/requests/run_arguments.hpp"
#include "profiler/training/run_promise.hpp"
#include "profiler/training/training_run.hpp"

namespace sluice::cli {

/// Functions by which the first rank prints and returns what a run of one process does.
struct FirstRankShows {
  std::function<int(const planner::Infeasible& infeasible)> infeasible;
  std::function<int(const profiler::TrainRequest& request, const profiler::RunPromise& promise)>
      dry_run;
  std::function<void(const profiler::TrainRequest& request, const profiler::RunPromise& promise,
                     const profiler::RunStart& start)>
      beginning;
  std::function<int(const profiler::TrainingRun& run)> result;
  bool lines = true;  ///< Whether each step has a line.
};

/// Trains as the rank that `launch` says and returns the exit code. The first rank plans, owns the
/// run's folder and prints; the others take its plan and print only errors.
[[nodiscard]] int train_as_rank(const planner::RunArguments& words, const engine::Launch& launch,
                                InterruptFlag& interrupt, const FirstRankShows& shows);

}  // namespace sluice::cli
