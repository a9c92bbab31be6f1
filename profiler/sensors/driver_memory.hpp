// How much device memory is in use, as the driver reports it.
#pragma once

#include <optional>

#include "sim/units.hpp"

namespace sluice::profiler {

/// Of the first visible GPU, by all processes and the driver itself (NVML); asking creates no
/// context. None without a GPU, its driver or NVML.
[[nodiscard]] std::optional<Bytes> device_memory_in_use();

/// Total less free as the calling thread's CUDA context has them (cuMemGetInfo). None where the
/// thread has no context.
[[nodiscard]] std::optional<Bytes> context_memory_in_use();

/// What this process takes of the device's memory: what is in use now less what was before it
/// began. Other processes must not change theirs meanwhile.
class OwnDeviceMemory {
 public:
  /// Before the process touches the device.
  OwnDeviceMemory() : before_(device_memory_in_use()) {}
  /// Asks again; the most of all answers is kept.
  void ask();
  /// None where the driver does not say.
  [[nodiscard]] std::optional<Bytes> most() const { return most_; }
  /// Total less free of the context, the most of all answers; other processes' memory included.
  [[nodiscard]] std::optional<Bytes> most_of_all() const { return most_of_all_; }

 private:
  std::optional<Bytes> before_;
  std::optional<Bytes> most_;
  std::optional<Bytes> most_of_all_;
};

}  // namespace sluice::profiler
