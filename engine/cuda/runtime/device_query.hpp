// Query for this machine's CUDA devices. It also works in a build without CUDA and on a machine
// without a GPU or a driver, where it finds none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/units.hpp"

namespace sluice::engine::cuda {

/// Version `major.minor` of a CUDA runtime or driver, or a compute capability.
struct Version {
  int major = 0;
  int minor = 0;
  friend auto operator<=>(const Version&, const Version&) = default;
};
[[nodiscard]] std::string to_string(Version version);

struct Device {
  std::string name;
  /// Compute capability: the GPU's architecture; 9.0 stands for sm_90.
  Version compute_capability;
  Bytes memory;
  int multiprocessors = 0;
  std::string pci_bus_id;
};

struct DeviceQuery {
  /// Version of the CUDA runtime that this build is linked with; none in a build without CUDA.
  std::optional<Version> runtime;
  /// Highest version of CUDA that the installed driver supports; none without a driver.
  std::optional<Version> driver;
  std::vector<Device> devices;
  std::optional<std::string> reason;  ///< Why no device was found, in one line; none if one was.
};

/// Finds this computer's CUDA devices, driver and runtime. Does not throw if driver or devices are
/// missing.
[[nodiscard]] DeviceQuery query_devices();

}  // namespace sluice::engine::cuda
