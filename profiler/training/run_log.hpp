// Log of every step besides metrics.jsonl: sensors, busy times of lanes, TensorBoard events.
#pragma once

#include <optional>
#include <string>

#include "engine/run_folders/event_file.hpp"
#include "engine/run_folders/metrics.hpp"
#include "engine/run_folders/run_folder.hpp"
#include "planner/predictions/predict.hpp"
#include "profiler/sensors/gpu_sensors.hpp"
#include "profiler/traces/lane_meter.hpp"

namespace sluice::profiler {

class RunLog {
 public:
  /// Logs steps from `first_step` on to `folder`. `meter`, which must outlive this object, measures
  /// lanes.
  RunLog(const engine::RunFolder& folder, const planner::Prediction& prediction,
         planner::DeviceKind device, LaneMeter& meter, std::int64_t first_step);

  /// Adds to `line` the metrics that are measured outside the engine: sensors, busy times, MFU.
  void measure(engine::StepMetrics& line);
  /// Writes the step's metrics as TensorBoard events. If the disk refuses, no more events are
  /// written: metrics.jsonl has the same values.
  void log(const engine::StepMetrics& line);
  void validation(std::int64_t step, double loss);
  /// Warns if some events could not be written.
  void finish() const;

 private:
  template <class Write>
  void guarded(const Write& write);

  /// Predicted MFU times predicted step seconds, which over a measured step's seconds gives its
  /// MFU; 0 if the machine's peak is unknown.
  double mfu_seconds_;
  LaneMeter& meter_;
  std::optional<GpuSensors> sensors_;
  std::optional<engine::EventFile> events_;
  std::string failure_;
};

}  // namespace sluice::profiler
