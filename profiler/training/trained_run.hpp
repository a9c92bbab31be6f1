// A run of `sluice train`: its prediction and its results.
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
#include "sim/trace.hpp"

namespace sluice::profiler {

/// Results of the saves during a run, without the one at its end.
struct SavesDone {
  std::int64_t whole = 0, failed = 0;
  std::vector<Seconds> stalls;  ///< Time for which each save paused training.
  [[nodiscard]] std::optional<Seconds> median_stall() const;
};

/// Tokens per second at the median step's pace: positions with text and without, in the steps that
/// the run made.
struct TokenRates {
  std::optional<double> useful, padded;
  double padded_fraction = 0;
};

/// A run that has ended, with its prediction.
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
  /// Origin of the initial weights: "random", or a folder.
  std::string weights_from;
  /// Step of the checkpoint that the run continued from, if any.
  std::optional<std::int64_t> resumed_after;
  std::optional<std::filesystem::path> checkpoint{};  ///< Checkpoint left by the run.
  planner::SavingPlan saving{};
  SavesDone saves{};
  std::string started, ended{};  ///< Start and end time, UTC.
  double unigram_entropy = 0;    ///< Entropy of the tokens' frequencies in nats per token.
  engine::TrainingResult result{};
  std::vector<engine::StepMetrics> metrics{};
  std::string weights_sha256{}, state_sha256{};  ///< Empty without TrainOptions::hashes.
  Seconds hashing{0};                            ///< Time that the run's end waited for the two.
  sim::Trace predicted_trace{};
  std::optional<sim::Trace> measured_trace{};
  /// Measured stall times in the traced steps.
  std::optional<planner::StallTimes> measured_stalls{};
  std::string observed{};  ///< Text saying which steps were traced and how they were timed.
  std::vector<planner::Elasticity> elasticities{};
  Bytes disk_written{0};  ///< Bytes of state and gradients written to the disk file.
  double endurance = 0;   ///< Bytes that the drive is rated for; 0 if that is not stated.

  /// Bytes of all checkpoints that this start of the run wrote, including those removed since.
  [[nodiscard]] Bytes checkpoints_written() const {
    return planner::checkpoint_bytes(job) * (saves.whole + (checkpoint ? 1 : 0));
  }
  /// Bytes written as a share of the bytes that the drive is rated for.
  [[nodiscard]] double written_share() const;
  [[nodiscard]] TokenRates token_rates() const;
  /// The part of the device arena that is this process's memory: on the host backend, all of it.
  [[nodiscard]] Bytes in_process(Bytes device_arena) const {
    return device == planner::DeviceKind::host ? device_arena : Bytes(0);
  }
};

}  // namespace sluice::profiler
