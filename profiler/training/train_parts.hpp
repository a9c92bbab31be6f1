// Parts that a run uses while it trains.
#pragma once

#include <atomic>
#include <optional>

#include "engine/datasets/data.hpp"
#include "engine/run_folders/run_folder.hpp"
#include "profiler/training/process_rank.hpp"
#include "profiler/training/run_observer.hpp"
#include "profiler/training/train_state.hpp"

namespace sluice::profiler {

/// Parts that a run uses while it trains; all of them must outlive it.
struct TrainParts {
  const planner::ResolvedMachine& machine;
  engine::WindowedText& text;
  const engine::RunFolder& folder;
  const RunStart& start;
  const RunIdentity& identity;
  const std::atomic<bool>&
      interrupted;  ///< Request to stop: once set, the run saves after the current step and ends.
  engine::RunBeginning& beginning;
  RunObserver& observer;
  bool saves = true;   ///< Whether checkpoints are written.
  bool hashes = true;  ///< Whether the last state is hashed.
  /// This process's place among others that are ranks; none where it is the only one.
  std::optional<ProcessRank> rank = {};

  [[nodiscard]] engine::RankLinks links() const { return rank ? rank->links : engine::RankLinks{}; }
};

}  // namespace sluice::profiler
