// Records of what CUPTI collected of a run, in types of our own that need nothing of CUPTI.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/cupti/task_key.hpp"
#include "sim/units.hpp"

namespace sluice::profiler::cupti {

/// Clock of CUPTI's records: nanoseconds since an epoch of its own.
struct DeviceClock {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<DeviceClock>;
  static constexpr bool is_steady = true;
};
using DeviceInstant = DeviceClock::time_point;

enum class ActivityKind : std::uint8_t { kernel, copy, fill };
enum class CopyKind : std::uint8_t {
  none,
  host_to_device,
  device_to_host,
  device_to_device,
  other
};

/// Number that ties an activity on the device to the call that asked for it; CUPTI numbers calls
/// from 1.
using CorrelationId = std::uint32_t;

/// One kernel, memcpy or memset that ran on the device.
struct Activity {
  ActivityKind kind = ActivityKind::kernel;
  CorrelationId correlation = 0;
  std::uint32_t stream = 0;
  /// Start and end on the device; both are the clock's epoch where CUPTI could not time the
  /// activity.
  DeviceInstant start, end;
  Bytes bytes{0};  ///< Bytes that a copy or fill wrote; zero for a kernel.
  CopyKind copy = CopyKind::none;
  std::string name;  ///< Mangled name of a kernel; empty for a copy or fill.
  friend bool operator==(const Activity&, const Activity&) = default;
};

/// Record that the call with this correlation id was made for the task with this external id.
struct Tag {
  CorrelationId correlation = 0;
  ExternalId id = 0;
};

/// Time on the CPU that CUPTI or the driver took for itself.
struct Overhead {
  std::string kind;
  DeviceInstant start, end;
};

/// One instant as both clocks show it.
struct ClockPair {
  std::chrono::steady_clock::time_point host;
  DeviceInstant device;
};

/// Everything that was collected between two instants, `begin` and `end`, in no order.
struct RecordSet {
  std::vector<Activity> activities;
  std::vector<Tag> tags;
  std::vector<Overhead> overheads;
  std::size_t dropped = 0;  ///< Number of records for which CUPTI says that it had no room.
  std::size_t unread = 0;   ///< Number of records that could not be read.
  ClockPair begin, end;
};

}  // namespace sluice::profiler::cupti
