// A run of `sluice train`: what it was promised to be, and what it came to.
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

/// How the saves during a run went; the one at its end is not among them.
struct SavesDone {
  std::int64_t whole = 0, failed = 0;
  std::vector<Seconds> stalls;  ///< Training stood still, of each.
  [[nodiscard]] std::optional<Seconds> median_stall() const;
};

/// Positions with text and without, of the steps that the run made, at the median step's pace.
struct TokenRates {
  std::optional<double> useful, padded;
  double padded_fraction = 0;
};

/// A run that has ended, and what it was promised to be.
struct TrainedRun {
  const planner::RunConfig& config;
  const planner::Job& job;
  const planner::PredictedStep& predicted;
  std::string machine;
  planner::DeviceKind device;
  std::string plan_source;  ///< "given", "stored", "searched"
  std::string folder;
  std::string numerics_id;
  std::string data_sha256;
  std::string weights_from;                           ///< "random", or a folder.
  std::optional<std::int64_t> resumed_after;          ///< Step of the checkpoint.
  std::optional<std::filesystem::path> checkpoint{};  ///< That the run left.
  planner::SavingPlan saving{};
  SavesDone saves{};
  std::string started, ended{};  ///< UTC
  double unigram_entropy = 0;    ///< Nats a token.
  engine::TrainingResult result{};
  std::vector<engine::StepMetrics> metrics{};
  std::string weights_sha256{}, state_sha256{};
  sim::Trace predicted_trace{};
  std::optional<sim::Trace> measured_trace{};
  /// Measured, of the traced steps.
  std::optional<planner::StallTimes> measured_stalls{};
  std::string observed{};  ///< Which steps were traced, and how they were timed.
  std::vector<planner::Elasticity> elasticities{};
  Bytes disk_written{0};  ///< Of state and gradients that live on the disk.
  double endurance = 0;   ///< Bytes that the drive is rated for; 0: nobody stated it.

  /// Checkpoints that this start of the run left on the drive, or dropped again.
  [[nodiscard]] Bytes checkpoints_written() const {
    return planner::checkpoint_bytes(job) * (saves.whole + (checkpoint ? 1 : 0));
  }
  /// Of what the drive is rated for.
  [[nodiscard]] double written_share() const;
  [[nodiscard]] TokenRates token_rates() const;
  /// What of the device arena the process holds: on the host backend, all of it.
  [[nodiscard]] Bytes in_process(Bytes device_arena) const {
    return device == planner::DeviceKind::host ? device_arena : Bytes(0);
  }
};

}  // namespace sluice::profiler
