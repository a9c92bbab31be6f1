// What CUDA devices this machine has, asked of the CUDA runtime. Works, and answers "none", in a
// build without CUDA and on a machine without a GPU or a driver.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/units.hpp"

namespace sluice::engine::cuda {

/// `major.minor` of a CUDA runtime or driver.
struct Version {
  int major = 0;
  int minor = 0;
  friend auto operator<=>(const Version&, const Version&) = default;
};
[[nodiscard]] std::string to_string(Version version);

struct Device {
  std::string name;
  Version compute_capability;  ///< 9.0 is sm_90.
  Bytes memory;
  int multiprocessors = 0;
  std::string pci_bus_id;
};

struct DeviceQuery {
  std::optional<Version> runtime;  ///< Of the build; none in a build without CUDA.
  std::optional<Version> driver;   ///< Highest CUDA version the driver supports; none without one.
  std::vector<Device> devices;
  std::optional<std::string> reason;  ///< Why `devices` is empty, where it is.
};

/// Asks the runtime; never throws for want of a driver or a device.
[[nodiscard]] DeviceQuery query_devices();

}  // namespace sluice::engine::cuda
