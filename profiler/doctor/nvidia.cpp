#include "profiler/doctor/nvidia.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "profiler/sensors/shared_library.hpp"

namespace sluice::profiler {
namespace {

// The driver API's enumerators that are used here, from its public reference.
constexpr int kNoDevice = 100;
constexpr int kMajor = 75;
constexpr int kMinor = 76;

using Query = int(void*, unsigned*);
using LinkQuery = int(void*, unsigned, unsigned*);

/// Number of NVLinks of a GPU that are up.
int links_up(LinkQuery* state, void* handle) {
  constexpr unsigned kMostLinks = 18;
  int up = 0;
  for (unsigned link = 0; link < kMostLinks; ++link) {
    unsigned active = 0;
    up += state(handle, link, &active) == 0 && active != 0;
  }
  return up;
}

/// PCI address of device `i` as /sys writes it; empty where the driver does not say.
std::string bus_of(int (*query)(char*, int, int), int i) {
  std::array<char, 32> text{};
  if (query == nullptr || query(text.data(), static_cast<int>(text.size()), i) != 0) return {};
  std::string bus = text.data();
  std::transform(bus.begin(), bus.end(), bus.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return bus;
}

std::vector<std::vector<bool>> peers_of(int (*query)(int*, int, int), int devices) {
  if (query == nullptr) return {};
  std::vector<std::vector<bool>> peers;
  for (int i = 0; i < devices; ++i) {
    std::vector<bool>& row = peers.emplace_back();
    for (int j = 0; j < devices; ++j) {
      int can = 0;
      row.push_back(i == j || (query(&can, i, j) == 0 && can != 0));
    }
  }
  return peers;
}

/// Adds NVML's facts: kernel driver version, PCIe links and NVLinks, in the driver's device order.
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
  const auto by_bus = symbol<int(const char*, void**)>(nvml, "nvmlDeviceGetHandleByPciBusId_v2");
  const auto nvlink = symbol<LinkQuery>(nvml, "nvmlDeviceGetNvLinkState");
  const std::array<Query*, 4> queries = {symbol<Query>(nvml, "nvmlDeviceGetCurrPcieLinkGeneration"),
                                         symbol<Query>(nvml, "nvmlDeviceGetCurrPcieLinkWidth"),
                                         symbol<Query>(nvml, "nvmlDeviceGetMaxPcieLinkGeneration"),
                                         symbol<Query>(nvml, "nvmlDeviceGetMaxPcieLinkWidth")};
  for (unsigned i = 0; device && i < driver.gpus.size(); ++i) {
    Gpu& gpu = driver.gpus[i];
    void* handle = nullptr;
    std::array<unsigned, 4> values{};
    const bool found = by_bus && !gpu.bus.empty() ? by_bus(gpu.bus.c_str(), &handle) == 0
                                                  : device(i, &handle) == 0;
    if (found && nvlink) gpu.nvlinks = links_up(nvlink, handle);
    bool known = found;
    for (std::size_t q = 0; known && q < queries.size(); ++q) {
      known = queries[q] && queries[q](handle, &values[q]) == 0;
    }
    if (known) gpu.pcie = Gpu::Pcie{values[0], values[1], values[2], values[3]};
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
    gpu.bus = bus_of(symbol<int(char*, int, int)>(cuda, "cuDeviceGetPCIBusId"), i);
    driver.gpus.push_back(std::move(gpu));
  }
  driver.peers = peers_of(symbol<int(int*, int, int)>(cuda, "cuDeviceCanAccessPeer"), devices);
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
