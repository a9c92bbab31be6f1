#include "profiler/doctor/nvidia.hpp"

#include <array>

#include "profiler/sensors/shared_library.hpp"

namespace sluice::profiler {
namespace {

// The driver API's enumerators that are used here, from its public reference.
constexpr int kNoDevice = 100;
constexpr int kMajor = 75;
constexpr int kMinor = 76;

/// Adds NVML's facts: kernel driver version and PCIe links, in the driver's device order.
void add_nvml(NvidiaDriver& driver) {
  const Library nvml = open_library("libnvidia-ml.so.1");
  if (!nvml) return;
  const auto init = symbol<int()>(nvml, "nvmlInit_v2");
  const auto shutdown = symbol<int()>(nvml, "nvmlShutdown");
  const auto version = symbol<int(char*, unsigned)>(nvml, "nvmlSystemGetDriverVersion");
  const auto device = symbol<int(unsigned, void**)>(nvml, "nvmlDeviceGetHandleByIndex_v2");
  if (!init || !shutdown || init() != 0) return;
  std::array<char, 96> text{};
  if (version && version(text.data(), text.size()) == 0) driver.version = text.data();
  using Query = int(void*, unsigned*);
  const std::array<Query*, 4> queries = {symbol<Query>(nvml, "nvmlDeviceGetCurrPcieLinkGeneration"),
                                         symbol<Query>(nvml, "nvmlDeviceGetCurrPcieLinkWidth"),
                                         symbol<Query>(nvml, "nvmlDeviceGetMaxPcieLinkGeneration"),
                                         symbol<Query>(nvml, "nvmlDeviceGetMaxPcieLinkWidth")};
  for (unsigned i = 0; device && i < driver.gpus.size(); ++i) {
    void* handle = nullptr;
    std::array<unsigned, 4> values{};
    bool known = device(i, &handle) == 0;
    for (std::size_t q = 0; known && q < queries.size(); ++q) {
      known = queries[q] && queries[q](handle, &values[q]) == 0;
    }
    if (known) driver.gpus[i].pcie = Gpu::Pcie{values[0], values[1], values[2], values[3]};
  }
  shutdown();
}

}  // namespace

std::optional<NvidiaDriver> ask_nvidia_driver() {
  const Library cuda = open_library("libcuda.so.1");
  if (!cuda) return std::nullopt;
  NvidiaDriver driver;
  const auto init = symbol<int(unsigned)>(cuda, "cuInit");
  const auto version = symbol<int(int*)>(cuda, "cuDriverGetVersion");
  const auto count = symbol<int(int*)>(cuda, "cuDeviceGetCount");
  const auto name = symbol<int(char*, int, int)>(cuda, "cuDeviceGetName");
  const auto attribute = symbol<int(int*, int, int)>(cuda, "cuDeviceGetAttribute");
  const auto memory = symbol<int(std::size_t*, int)>(cuda, "cuDeviceTotalMem_v2");
  if (!init || !version || !count || !name || !attribute || !memory) {
    driver.problem = "libcuda.so.1 lacks functions of the driver API";
    return driver;
  }
  version(&driver.cuda_version);
  int devices = 0;
  const int status = init(0);
  if (status != 0 && status != kNoDevice) {
    driver.problem = "the driver refuses to start (CUDA error " + std::to_string(status) + ")";
    return driver;
  }
  if (status == 0 && count(&devices) != 0) devices = 0;
  for (int i = 0; i < devices; ++i) {
    Gpu gpu;
    std::array<char, 256> text{};
    int major = 0;
    int minor = 0;
    std::size_t bytes = 0;
    name(text.data(), static_cast<int>(text.size()) - 1, i);
    attribute(&major, kMajor, i);
    attribute(&minor, kMinor, i);
    memory(&bytes, i);
    gpu.name = text.data();
    gpu.compute_capability = 10 * major + minor;
    gpu.memory = Bytes(static_cast<std::int64_t>(bytes));
    driver.gpus.push_back(std::move(gpu));
  }
  add_nvml(driver);
  return driver;
}

std::optional<std::string> loadable_library(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (open_library(name.c_str())) return name;
  }
  return std::nullopt;
}

}  // namespace sluice::profiler
