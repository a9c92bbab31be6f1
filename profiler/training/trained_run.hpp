// Prediction and results of a run of `sluice train`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/training/trainer.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/requests/phase_memory.hpp"
#include "planner/requests/saving_plan.hpp"
#include "planner/runs/run_config.hpp"
#include "profiler/report/report.hpp"
#include "profiler/traces/rank_spread.hpp"
#include "profiler/traces/run_spread.hpp"
#include "sim/trace.hpp"

namespace sluice::profiler {

/// Counts and pauses of the saves during a run, without the one at its end.
struct SavesDone {
  std::int64_t whole = 0, failed = 0;
  std::vector<Seconds> stalls;  ///< Time for which each of these saves paused training.
  [[nodiscard]] std::optional<Seconds> median_stall() const;
};

/// Tokens per second at the median step's pace: positions with text (`useful`) and without
/// (`padded`); none if no step was timed. `padded_fraction` is the share (0 to 1) of positions
/// without text in the steps that the run made.
struct TokenRates {
  std::optional<double> useful, padded;
  double padded_fraction = 0;
};

/// A run that has ended: its prediction and what was measured.
struct TrainedRun {
  const planner::RunConfig& config;
  const planner::Job& job;
  const planner::PredictedStep& predicted;
  std::string machine;
  planner::DeviceKind device;
  std::string plan_source;  ///< Origin of the plan: "given", "stored" or "searched".
  std::string folder;
  std::string numerics_id;
  std::string data_sha256;
  /// Origin of the initial weights: "random", or a folder's path.
  std::string weights_from;
  /// Number of steps in the checkpoint that the run continued from; none for a run from its
  /// beginning.
  std::optional<std::int64_t> resumed_after;
  /// Folder of the checkpoint that the run left at its end; none if it left none.
  std::optional<std::filesystem::path> checkpoint{};
  planner::SavingPlan saving{};
  SavesDone saves{};
  std::string started, ended{};  ///< UTC times at which the run started and ended.
  /// Entropy of the frequencies of the data's tokens, in nats per token.
  double unigram_entropy = 0;
  engine::TrainingResult result{};
  std::vector<engine::StepMetrics> metrics{};
  /// SHA-256 of the trained weights and of the moments; empty without TrainOptions::hashes.
  std::string weights_sha256{}, state_sha256{};
  /// Time that the run's end waited for both hashes.
  Seconds hashing{0};
  sim::Trace predicted_trace{};
  std::optional<sim::Trace> measured_trace{};
  /// Measured traces of the ranks after the first, on the first one's clock, and what all ranks did
  /// beside each other; empty and none for one rank or without three traced steps.
  std::vector<sim::Trace> rank_traces{};
  std::optional<RankSpread> ranks{};
  /// Compute times of this process' ranks over all steps of this training; empty for one rank.
  std::vector<RankOfRun> whole_run{};
  /// Measured busy and idle times of the compute lane in the traced steps; none without three of
  /// them.
  std::optional<planner::StallTimes> measured_stalls{};
  std::string observed{};  ///< Text that says which steps were traced and what timed them.
  std::vector<planner::Elasticity> elasticities{};
  Bytes disk_written{0};  ///< Bytes of state and gradients that steps wrote to the disk.
  /// Bytes that may be written in the drive's life, by its rating; 0 if that is not stated.
  double endurance = 0;

  /// Bytes of all checkpoints that this start of the run wrote, including those removed since.
  [[nodiscard]] Bytes checkpoints_written() const {
    return planner::checkpoint_bytes(job) * (saves.whole + (checkpoint ? 1 : 0));
  }
  /// Bytes that the run wrote to the drive over the bytes that the drive is rated for.
  [[nodiscard]] double written_share() const;
  [[nodiscard]] TokenRates token_rates() const;
  /// Bytes of the device arena that are this process's memory: all on the host backend, else 0.
  [[nodiscard]] Bytes in_process(Bytes device_arena) const {
    return device == planner::DeviceKind::host ? device_arena : Bytes(0);
  }
};

}  // namespace sluice::profiler
