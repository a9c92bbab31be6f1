// What a run is made of while it trains.
#pragma once

#include <atomic>

#include "engine/datasets/data.hpp"
#include "engine/records/run_folder.hpp"
#include "profiler/training/run_observer.hpp"
#include "profiler/training/train_state.hpp"

namespace sluice::profiler {

/// What a run is made of; all of it outlives the run.
struct TrainParts {
  const planner::ResolvedMachine& machine;
  engine::WindowedText& text;
  const engine::RunFolder& folder;
  const RunStart& start;
  const RunIdentity& identity;
  const std::atomic<bool>& interrupted;  ///< Once set, the run saves behind the step and stops.
  engine::RunBeginning& beginning;
  RunObserver& observer;
  bool saves = true;  ///< Writes checkpoints.
};

}  // namespace sluice::profiler
