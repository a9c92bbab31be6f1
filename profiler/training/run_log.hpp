// What a run says of every step besides metrics.jsonl: sensors and lanes measured, TensorBoard.
#pragma once

#include <optional>
#include <string>

#include "engine/records/event_file.hpp"
#include "engine/records/metrics.hpp"
#include "engine/records/run_folder.hpp"
#include "planner/predictions/predict.hpp"
#include "profiler/sensors/gpu_sensors.hpp"
#include "profiler/traces/lane_meter.hpp"

namespace sluice::profiler {

class RunLog {
 public:
  /// `meter` must outlive it. Steps from `first_step` on are written.
  RunLog(const engine::RunFolder& folder, const planner::Prediction& prediction,
         planner::DeviceKind device, LaneMeter& meter, std::int64_t first_step);

  /// Fills in what is measured beside the engine.
  void measure(engine::StepMetrics& line);
  /// Writes TensorBoard's events. Where the disk refuses there are no more of them: metrics.jsonl
  /// has the same.
  void log(const engine::StepMetrics& line);
  void validation(std::int64_t step, double loss);
  /// Warns of events that were not written.
  void finish() const;

 private:
  template <class Write>
  void guarded(const Write& write);

  double mfu_seconds_;  ///< MFU x step time of the prediction; 0 where the peak is unknown.
  LaneMeter& meter_;
  std::optional<GpuSensors> sensors_;
  std::optional<engine::EventFile> events_;
  std::string failure_;
};

}  // namespace sluice::profiler
