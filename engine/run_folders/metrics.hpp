// Writer of metrics.jsonl, one line per step.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "engine/run_folders/gpu_reading.hpp"
#include "engine/run_folders/line_file.hpp"
#include "planner/graph/step_graph.hpp"
#include "sim/units.hpp"

namespace sluice::engine {

/// Metrics of one step.
struct StepMetrics {
  std::int64_t step = 0;  ///< Number of the step, from 1.
  double loss = 0;        ///< Mean cross-entropy of the step's targets, in nats.
  /// Load-balancing loss that training adds to the cross-entropy; none for models without balanced
  /// experts.
  std::optional<double> balance_loss{};
  double grad_norm = 0;  ///< Global 2-norm of the gradient before clipping.
  double lr = 0;
  Seconds step_time{
      0};  ///< Time from the previous step's `grads` to this step's; for step 1, from the start.
  Seconds predicted{0};
  std::int64_t tokens = 0;
  /// Number of the step's tokens that are not padding, including those that are only read.
  std::int64_t useful_tokens = 0;
  std::int64_t target_tokens = 0;  ///< Number of tokens that the loss is the mean of.
  /// Whether the step had no target and made no update: loss and norm are then written as null.
  bool skipped = false;
  /// Model FLOPs utilisation; none if the machine's peak is not known.
  std::optional<double> mfu{};
  /// Share of the step's time in which each lane was busy, by LaneKind; none for lanes that the
  /// plan does not use.
  std::array<std::optional<double>, planner::kLaneKinds> busy{};
  Bytes to_device{0}, to_host{0};  ///< Bytes copied by tasks that ended within the step's time.
  /// Bytes moved from and to the disk by tasks that ended within the step's time; none if the plan
  /// uses no disk.
  std::optional<Bytes> from_disk{}, to_disk{};
  std::optional<GpuReading> gpu{};
  std::optional<double> val_loss{};  ///< Validation loss after the step, if it was evaluated.
  /// Whether the run is a rehearsal, whose times alone mean something: loss and norm are then
  /// written as null.
  bool rehearsal = false;
};

/// Appends to metrics.jsonl; docs/schemas/metrics.schema.json lists the fields. Lines that the disk
/// refuses are kept, up to half a MiB, and written with the next accepted line, because a full disk
/// may have room again once a save has failed.
class MetricsFile {
 public:
  explicit MetricsFile(const std::filesystem::path& file);
  /// Continues a run's file behind the line of step `last`, removing later lines and an incomplete
  /// one. Pipes and devices are only written to.
  MetricsFile(const std::filesystem::path& file, std::int64_t last);
  /// Appends a line without allocating. Throws EnvironmentError if the disk has refused too many
  /// lines.
  void append(const StepMetrics& metrics);
  /// Waits until the disk holds all lines. Throws EnvironmentError if it does not take them.
  void flush();

 private:
  void write(std::string_view line);
  void write_refused();

  LineFile file_;
  std::string refused_;  ///< Lines that the disk refused, each with its newline.
};

}  // namespace sluice::engine
