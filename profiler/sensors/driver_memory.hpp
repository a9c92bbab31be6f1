// Device memory in use, as the NVIDIA driver reports it.
#pragma once

#include <optional>

#include "sim/units.hpp"

namespace sluice::profiler {

/// Bytes in use on the first visible GPU by all processes and the driver itself (NVML); asking
/// creates no CUDA context. None without a GPU, its driver or NVML.
[[nodiscard]] std::optional<Bytes> device_memory_in_use();

/// Bytes of the device's memory that are not free (total less free), as the calling thread's CUDA
/// context reports them (cuMemGetInfo), of all processes. None where the thread has no context.
[[nodiscard]] std::optional<Bytes> context_memory_in_use();

/// Meter of this process's device memory: what is in use on the device less what was before. Other
/// processes must not change theirs meanwhile.
class OwnDeviceMemory {
 public:
  /// Reads what is in use before the process touches the device; so construct it first.
  OwnDeviceMemory() : before_(device_memory_in_use()) {}
  /// Asks the driver how much is in use now, and keeps the largest of all answers.
  void ask();
  /// Largest use by this process at the times of ask(); none where the driver does not report it.
  [[nodiscard]] std::optional<Bytes> most() const { return most_; }
  /// Largest use by all processes (total less free) at the times of ask(); none where it is not
  /// reported.
  [[nodiscard]] std::optional<Bytes> most_of_all() const { return most_of_all_; }

 private:
  std::optional<Bytes> before_;
  std::optional<Bytes> most_;
  std::optional<Bytes> most_of_all_;
};

}  // namespace sluice::profiler
