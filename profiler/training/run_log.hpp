// Records of every step besides metrics.jsonl: sensors, busy times of lanes, TensorBoard events.
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
  /// `meter` must outlive this object. Records steps from `first_step` on.
  RunLog(const engine::RunFolder& folder, const planner::Prediction& prediction,
         planner::DeviceKind device, LaneMeter& meter, std::int64_t first_step);

  /// Fills in the metrics that are measured outside the engine.
  void measure(engine::StepMetrics& line);
  /// Writes TensorBoard events. If the disk refuses, no more are written: metrics.jsonl has the
  /// same values.
  void log(const engine::StepMetrics& line);
  void validation(std::int64_t step, double loss);
  /// Warns if events were not written.
  void finish() const;

 private:
  template <class Write>
  void guarded(const Write& write);

  double mfu_seconds_;  ///< Predicted MFU times step time; 0 if the machine's peak is unknown.
  LaneMeter& meter_;
  std::optional<GpuSensors> sensors_;
  std::optional<engine::EventFile> events_;
  std::string failure_;
};

}  // namespace sluice::profiler
