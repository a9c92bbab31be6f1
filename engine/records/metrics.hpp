// metrics.jsonl: a line a step.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "engine/records/gpu_reading.hpp"
#include "engine/records/line_file.hpp"
#include "planner/graph/step_graph.hpp"
#include "sim/units.hpp"

namespace sluice::engine {

/// What one step came to.
struct StepMetrics {
  std::int64_t step = 0;  ///< From 1.
  double loss = 0;        ///< Mean cross-entropy of the step's targets, nats.
  /// What balancing experts adds to it; none where nothing is balanced.
  std::optional<double> balance_loss{};
  double grad_norm = 0;  ///< Global, before clipping.
  double lr = 0;
  Seconds step_time{
      0};  ///< From the last step's `grads` to this one's (of step 1: from the start).
  Seconds predicted{0};
  std::int64_t tokens = 0;
  std::int64_t useful_tokens = 0;  ///< Without padding; text that only is read counts.
  std::int64_t target_tokens = 0;  ///< That the loss is the mean of.
  std::optional<double> mfu{};     ///< None where the machine's peak is not known.
  /// Share of the step's time in which each lane was at a task, by LaneKind; none for lanes that
  /// the plan does not use.
  std::array<std::optional<double>, planner::kLaneKinds> busy{};
  Bytes to_device{0}, to_host{0};  ///< Copied by tasks that ended within the step's time.
  std::optional<Bytes> from_disk{}, to_disk{};  ///< Likewise; none where the plan uses no disk.
  std::optional<GpuReading> gpu{};
  std::optional<double> val_loss{};  ///< After the step, where it was evaluated.
  bool rehearsal = false;            ///< Times alone mean something: the rest is written as null.
};

/// Fields: docs/schemas/metrics.schema.json. Lines that the disk refuses are kept and written with
/// the next one it takes, up to half a MiB of them: a disk may be full until a save has failed.
class MetricsFile {
 public:
  explicit MetricsFile(const std::filesystem::path& file);
  /// Goes on with a run's file behind the line of step `last`; later lines, and one that was cut
  /// short, go. A pipe or device is only written to.
  MetricsFile(const std::filesystem::path& file, std::int64_t last);
  /// Does not allocate. Throws EnvironmentError where the disk has refused too many lines.
  void append(const StepMetrics& metrics);
  /// Throws EnvironmentError where lines are not on the disk.
  void flush();

 private:
  void write(std::string_view line);
  void write_refused();

  LineFile file_;
  std::string refused_;  ///< Lines, each with its newline.
};

}  // namespace sluice::engine
