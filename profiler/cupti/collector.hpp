// Collects what the GPU really did, task by task, through CUPTI's activity records.
#pragma once

#include <memory>
#include <optional>
#include <variant>

#include "profiler/cupti/absence.hpp"
#include "profiler/cupti/records.hpp"

namespace sluice::profiler::cupti {

/// One a process, for CUPTI serves one. Open it before the program's first CUDA call that loads
/// code: kernels of modules loaded earlier may go unseen. It traces from then on, so that modules
/// load under it, and throws the records away until the first `restart`.
class Collector {
 public:
  /// The library is opened here, at run time. An Absence says why there is none; nothing stays
  /// enabled then, and CUDA works as if it had not been asked.
  [[nodiscard]] static std::variant<std::unique_ptr<Collector>, Absence> open();
  virtual ~Collector() = default;
  Collector() = default;
  Collector(const Collector&) = delete;  // CUPTI's callbacks point at it.
  Collector& operator=(const Collector&) = delete;

  /// Forgets what was collected and collects from here on. Nothing may run on the device. What
  /// CUPTI refuses now (some permissions it looks at only once there is a context) is an Absence,
  /// and nothing is traced then. Throws EnvironmentError where the device fails.
  [[nodiscard]] virtual std::optional<Absence> restart() = 0;
  /// Stops tracing and returns what ran since `restart`, which must have succeeded: waits for the
  /// device, reads the buffers and frees them for the next time. Throws EnvironmentError.
  [[nodiscard]] virtual RecordSet take() = 0;

  /// What the calling thread asks of the device between the two is for `key`. Never nested. Costs
  /// one test of a flag while nothing is traced.
  virtual void begin_calls(TaskKey key) noexcept = 0;
  virtual void end_calls() noexcept = 0;
};

}  // namespace sluice::profiler::cupti
