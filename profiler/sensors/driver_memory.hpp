// Device memory in use, as the driver reports it.
#pragma once

#include <optional>

#include "sim/units.hpp"

namespace sluice::profiler {

/// Bytes in use on the first visible GPU by all processes and the driver itself (NVML); asking
/// creates no context. None without a GPU, its driver or NVML.
[[nodiscard]] std::optional<Bytes> device_memory_in_use();

/// Bytes in use (total less free) of the calling thread's CUDA context (cuMemGetInfo). None where
/// the thread has no context.
[[nodiscard]] std::optional<Bytes> context_memory_in_use();

/// Device memory of this process: what is in use now less what was before it began. Other processes
/// must not change theirs meanwhile.
class OwnDeviceMemory {
 public:
  /// Must be constructed before the process touches the device.
  OwnDeviceMemory() : before_(device_memory_in_use()) {}
  /// Asks the driver again; the largest of all answers is kept.
  void ask();
  /// Largest use by this process; none where the driver does not report it.
  [[nodiscard]] std::optional<Bytes> most() const { return most_; }
  /// Largest use by all processes (total less free of the context).
  [[nodiscard]] std::optional<Bytes> most_of_all() const { return most_of_all_; }

 private:
  std::optional<Bytes> before_;
  std::optional<Bytes> most_;
  std::optional<Bytes> most_of_all_;
};

}  // namespace sluice::profiler
