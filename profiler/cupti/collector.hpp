// Collection of what the GPU did, task by task, through CUPTI's activity records.
#pragma once

#include <memory>
#include <optional>
#include <variant>

#include "profiler/cupti/absence.hpp"
#include "profiler/cupti/records.hpp"

namespace sluice::profiler::cupti {

/// Collector of CUPTI's records; at most one in a process, since CUPTI serves one. Open it before
/// the program's first CUDA call that loads code: kernels of modules loaded earlier may go unseen.
/// It traces from then on, and discards the records until the first restart().
class Collector {
 public:
  /// Opens the CUPTI library at run time and starts tracing. An Absence says why that failed;
  /// nothing stays enabled then, and CUDA works as if nobody had tried.
  [[nodiscard]] static std::variant<std::unique_ptr<Collector>, Absence> open();
  virtual ~Collector() = default;
  Collector() = default;
  Collector(const Collector&) = delete;  // CUPTI's callbacks point at it.
  Collector& operator=(const Collector&) = delete;

  /// Forgets what was collected and collects from here on. Nothing may run on the device meanwhile.
  /// Returns an Absence where CUPTI refuses now (it checks some permissions only once there is a
  /// context); nothing is traced then. Throws EnvironmentError where the device fails.
  [[nodiscard]] virtual std::optional<Absence> restart() = 0;
  /// Stops tracing and returns what ran since the last restart(), which must have succeeded. Waits
  /// for the device, reads the buffers and frees them for the next use. Throws EnvironmentError.
  [[nodiscard]] virtual RecordSet take() = 0;

  /// Marks all that the calling thread asks of the device as work for the task `key`, until
  /// end_calls(). Calls may not be nested. Costs one test of a flag while nothing is traced.
  virtual void begin_calls(TaskKey key) noexcept = 0;
  virtual void end_calls() noexcept = 0;
};

}  // namespace sluice::profiler::cupti
