#include "profiler/sensors/gpu_sensors.hpp"

#include <array>

namespace sluice::profiler {
namespace {

// Enumerators from NVML's public reference (nvml.h).
constexpr int kTemperatureOfGpu = 0;  // NVML_TEMPERATURE_GPU
constexpr int kClockOfSm = 1;         // NVML_CLOCK_SM

}  // namespace

std::optional<std::string> first_bus_id() {
  const Library cuda = open_library("libcuda.so.1");
  if (!cuda) return std::nullopt;
  const auto init = symbol<int(unsigned)>(cuda, "cuInit");
  const auto get = symbol<int(int*, int)>(cuda, "cuDeviceGet");
  const auto bus_id = symbol<int(char*, int, int)>(cuda, "cuDeviceGetPCIBusId");
  int device = 0;
  std::array<char, 32> text{};
  if (!init || !get || !bus_id || init(0) != 0 || get(&device, 0) != 0) return std::nullopt;
  if (bus_id(text.data(), static_cast<int>(text.size()), device) != 0) return std::nullopt;
  return std::string(text.data());
}

GpuSensors::GpuSensors() {
  const std::optional<std::string> bus_id = first_bus_id();
  Library nvml = open_library("libnvidia-ml.so.1");
  if (!bus_id || !nvml) return;
  const auto init = symbol<int()>(nvml, "nvmlInit_v2");
  const auto find = symbol<int(const char*, void**)>(nvml, "nvmlDeviceGetHandleByPciBusId_v2");
  if (!init || !find || init() != 0) return;
  nvml_ = std::move(nvml);
  if (find(bus_id->c_str(), &device_) != 0) device_ = nullptr;
}

GpuSensors::~GpuSensors() {
  if (!nvml_) return;
  if (const auto shutdown = symbol<int()>(nvml_, "nvmlShutdown")) shutdown();
}

std::optional<engine::GpuReading> GpuSensors::read() {
  if (device_ == nullptr) return std::nullopt;
  const auto now = std::chrono::steady_clock::now();
  if (!asked_ || now - *asked_ >= std::chrono::seconds(1)) {
    asked_ = now;
    last_ = ask();
  }
  return last_;
}

std::optional<engine::GpuReading> GpuSensors::ask() const {
  const auto temperature = symbol<int(void*, int, unsigned*)>(nvml_, "nvmlDeviceGetTemperature");
  const auto power = symbol<int(void*, unsigned*)>(nvml_, "nvmlDeviceGetPowerUsage");
  const auto clock = symbol<int(void*, int, unsigned*)>(nvml_, "nvmlDeviceGetClockInfo");
  if (!temperature || !power || !clock) return std::nullopt;
  unsigned degrees = 0;
  unsigned milliwatts = 0;
  unsigned megahertz = 0;
  if (temperature(device_, kTemperatureOfGpu, &degrees) != 0 || power(device_, &milliwatts) != 0 ||
      clock(device_, kClockOfSm, &megahertz) != 0) {
    return std::nullopt;
  }
  return engine::GpuReading{.temperature = static_cast<double>(degrees),
                            .power = 1e-3 * milliwatts,
                            .clock = 1e6 * megahertz};
}

}  // namespace sluice::profiler
