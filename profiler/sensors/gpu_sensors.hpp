// Temperature, power and clock of the GPU that trains.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "engine/run_folders/gpu_reading.hpp"
#include "profiler/sensors/shared_library.hpp"

namespace sluice::profiler {

/// PCI bus id of the first visible CUDA device, as the driver names it; none without one.
[[nodiscard]] std::optional<std::string> first_bus_id();

/// NVML's sensors of the first visible CUDA device; the library is opened at run time.
class GpuSensors {
 public:
  GpuSensors();
  ~GpuSensors();
  GpuSensors(const GpuSensors&) = delete;  // NVML is initialised once and shut down once.
  GpuSensors& operator=(const GpuSensors&) = delete;

  /// The sensors' reading; none without a GPU or NVML, or where NVML does not answer. Asks at most
  /// once a second, since an answer takes milliseconds on some systems, and returns the last answer
  /// in between.
  [[nodiscard]] std::optional<engine::GpuReading> read();

 private:
  [[nodiscard]] std::optional<engine::GpuReading> ask() const;

  Library nvml_;
  void* device_ = nullptr;
  std::optional<engine::GpuReading> last_;
  std::optional<std::chrono::steady_clock::time_point> asked_;
};

}  // namespace sluice::profiler
