// What CUPTI collected of a run, in types of our own that need nothing of CUPTI.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/cupti/task_key.hpp"
#include "sim/units.hpp"

namespace sluice::profiler::cupti {

/// CUPTI's clock: nanoseconds since an epoch of its own.
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

/// Number that ties a call to what it started on the device; CUPTI numbers calls from 1.
using CorrelationId = std::uint32_t;

/// A kernel, memcpy or memset that ran.
struct Activity {
  ActivityKind kind = ActivityKind::kernel;
  CorrelationId correlation = 0;
  std::uint32_t stream = 0;
  DeviceInstant start, end;  ///< Both are the clock's epoch where CUPTI could not time it.
  Bytes bytes{0};            ///< Bytes of a copy or fill.
  CopyKind copy = CopyKind::none;
  std::string name;  ///< Mangled name of a kernel.
  friend bool operator==(const Activity&, const Activity&) = default;
};

/// States that the call with this correlation id was made for the task with this external id.
struct Tag {
  CorrelationId correlation = 0;
  ExternalId id = 0;
};

/// Time that CUPTI or the driver took for itself, on the CPU.
struct Overhead {
  std::string kind;
  DeviceInstant start, end;
};

/// One instant on both clocks.
struct ClockPair {
  std::chrono::steady_clock::time_point host;
  DeviceInstant device;
};

/// Everything that was collected between two instants, in no order.
struct RecordSet {
  std::vector<Activity> activities;
  std::vector<Tag> tags;
  std::vector<Overhead> overheads;
  std::size_t dropped = 0;  ///< Records that CUPTI reports to have had no room for.
  std::size_t unread = 0;   ///< Records that could not be read.
  ClockPair begin, end;
};

}  // namespace sluice::profiler::cupti
