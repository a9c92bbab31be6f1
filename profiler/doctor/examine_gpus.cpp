#include <fmt/format.h>

#include <algorithm>

#include "planner/catalogue/machine_list.hpp"
#include "profiler/doctor/examine.hpp"

namespace sluice::profiler {
namespace {

constexpr int kOldestCapability = 80;  ///< The first compute capability with bf16 tensor cores.

/// How far this version is known to work on GPUs of `capability`, as 10 x major + minor.
std::string support_text(int capability) {
  const std::string architecture = fmt::format("sm_{}", capability);
  const auto known = std::ranges::find(
      planner::support(), architecture,
      [](const planner::Support& each) -> std::string { return each.architecture; });
  if (known == planner::support().end()) {
    return "not known to this version: sluice doctor --deep tries it";
  }
  const std::string state = known->state;
  if (state == "tested") return "tested on such a card";
  return state + ", not run on such a card: sluice doctor --deep tries it";
}

Finding examine_gpu(const Gpu& gpu) {
  const double gibibytes = static_cast<double>(gpu.memory.count()) / (1LL << 30);
  const std::string text =
      fmt::format("{}, sm_{}, {:.1f} GiB", gpu.name, gpu.compute_capability, gibibytes);
  if (gpu.compute_capability < kOldestCapability) {
    return {"gpu", Verdict::fail,
            text + fmt::format(": sm_{} is the oldest architecture supported", kOldestCapability),
            "sluice machines (support table), or sluice train --backend host"};
  }
  return {"gpu", Verdict::ok, text + "; " + support_text(gpu.compute_capability), std::nullopt};
}

Finding examine_pcie(const Gpu& gpu) {
  if (!gpu.pcie) {
    return {"pcie", Verdict::warn, gpu.name + ": link unknown (NVML does not say)",
            "lspci -vv | grep -A40 NVIDIA | grep LnkSta"};
  }
  const auto& link = *gpu.pcie;
  const std::string text =
      fmt::format("{}: gen {} x{} (at best gen {} x{})", gpu.name, link.generation, link.width,
                  link.best_generation, link.best_width);
  // The generation falls while the GPU idles; a narrower width does not mend itself.
  if (link.width < link.best_width) {
    return {"pcie", Verdict::warn, text + ": the link runs narrower than it could",
            "lspci -vv | grep LnkSta (then reseat the card, or use a full-width slot)"};
  }
  return {"pcie", Verdict::ok, text, std::nullopt};
}

struct LibraryNeed {
  const char* subject;
  std::vector<std::string> names;
  const char* fix;
};

Finding examine_library(const LibraryNeed& need) {
  if (const auto found = loadable_library(need.names)) {
    return {need.subject, Verdict::ok, *found, std::nullopt};
  }
  return {need.subject, Verdict::warn, need.names.front() + " is not found", need.fix};
}

}  // namespace

Findings examine_gpus(const std::optional<NvidiaDriver>& driver, CudaBackend backend) {
  const char* const built = backend == CudaBackend::built ? "this build has cuda"
                                                          : "this build has the host backend only";
  if (!driver) {
    return {{"gpu", Verdict::ok, fmt::format("none: the host backend will be used ({})", built),
             std::nullopt}};
  }
  if (driver->problem) {
    return {{"driver", Verdict::warn, *driver->problem + "; the host backend will be used",
             "nvidia-smi (then reinstall the driver: apt-get install --reinstall nvidia-driver)"}};
  }
  Findings findings;
  const std::string cuda = fmt::format("CUDA up to {}.{}", driver->cuda_version / 1000,
                                       driver->cuda_version % 1000 / 10);
  findings.push_back({"driver", Verdict::ok,
                      driver->version ? fmt::format("NVIDIA {}, {}", *driver->version, cuda) : cuda,
                      std::nullopt});
  if (driver->gpus.empty()) {
    findings.push_back({"gpu", Verdict::ok,
                        fmt::format("none: the host backend will be used ({})", built),
                        std::nullopt});
    return findings;
  }
  for (const Gpu& gpu : driver->gpus) {
    findings.push_back(examine_gpu(gpu));
    findings.push_back(examine_pcie(gpu));
  }
  findings.push_back(
      examine_library({"cublas",
                       {"libcublas.so.13", "libcublas.so.12", "libcublas.so"},
                       "apt-get install libcublas-13-0 (from NVIDIA's repository)"}));
  findings.push_back(examine_library(
      {"cudnn", {"libcudnn.so.9", "libcudnn.so"}, "apt-get install libcudnn9-cuda-13"}));
  findings.push_back(examine_library({"cupti",
                                      {"libcupti.so.13", "libcupti.so.12", "libcupti.so",
                                       "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"},
                                      "apt-get install cuda-cupti-13-0"}));
  if (backend == CudaBackend::built) {
    findings.push_back({"cuda backend", Verdict::ok, built, std::nullopt});
  } else {
    findings.push_back(
        {"cuda backend", Verdict::warn, built,
         "pip install the wheel with CUDA (sluice_train_cu13-*.whl); in a clone, cmake --preset "
         "release-cuda && cmake --build build"});
  }
  return findings;
}

}  // namespace sluice::profiler
