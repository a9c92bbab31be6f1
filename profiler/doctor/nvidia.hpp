// Facts that the NVIDIA driver reports, asked through dlopen: nothing of CUDA is needed to build or
// run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/units.hpp"

namespace sluice::profiler {

struct Gpu {
  std::string name;
  int compute_capability = 0;  ///< 10 x major + minor: 90 for sm_90.
  Bytes memory{0};
  struct Pcie {
    unsigned generation, width;            ///< Current values; an idle GPU lowers its generation.
    unsigned best_generation, best_width;  ///< Best values of GPU and slot together.
  };
  std::optional<Pcie> pcie;
};

struct NvidiaDriver {
  std::optional<std::string> version;  ///< Version of the kernel driver, such as "580.65.06".
  /// Highest CUDA version that the driver supports, 1000 x major + 10 x minor.
  int cuda_version = 0;
  std::vector<Gpu> gpus;
  std::optional<std::string> problem;  ///< Why the driver is there and cannot be used.
};

/// Asks the driver for its version and GPUs; none where there is no driver library.
[[nodiscard]] std::optional<NvidiaDriver> ask_nvidia_driver();

/// First of `names` that dlopen finds; none if it finds none of them.
[[nodiscard]] std::optional<std::string> loadable_library(const std::vector<std::string>& names);

}  // namespace sluice::profiler
