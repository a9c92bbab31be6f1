// Facts that the NVIDIA driver reports, asked through dlopen, so that neither building nor running
// needs anything of CUDA.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/units.hpp"

namespace sluice::profiler {

struct Gpu {
  std::string name;
  int compute_capability = 0;  ///< Compute capability as 10 x major + minor, such as 90 for sm_90.
  Bytes memory{0};
  struct Pcie {
    /// PCIe generation and number of lanes of the link now; an idle GPU lowers its generation.
    unsigned generation, width;
    /// Highest PCIe generation and number of lanes that GPU and slot support together.
    unsigned best_generation, best_width;
  };
  std::optional<Pcie> pcie{};
  std::string bus =
      {};  ///< PCI address as the kernel writes it, "0000:1b:00.0"; empty if not known.
  /// Number of NVLinks that are up; none where NVML does not say.
  std::optional<int> nvlinks = std::nullopt;
};

struct NvidiaDriver {
  std::optional<std::string> version;  ///< Version of the kernel driver, such as "580.65.06".
  /// Highest CUDA version that the driver supports, as 1000 x major + 10 x minor.
  int cuda_version = 0;
  std::vector<Gpu> gpus;
  /// Whether GPU i may access the memory of GPU j, as peers[i][j]; empty if not known.
  std::vector<std::vector<bool>> peers;
  /// Why the driver cannot be used although it is there; none where it can.
  std::optional<std::string> problem;
};

/// Asks the driver for its version and GPUs; none where there is no driver library.
[[nodiscard]] std::optional<NvidiaDriver> ask_nvidia_driver();

/// First of `names` that dlopen finds; none if it finds none of them.
[[nodiscard]] std::optional<std::string> loadable_library(const std::vector<std::string>& names);

}  // namespace sluice::profiler
