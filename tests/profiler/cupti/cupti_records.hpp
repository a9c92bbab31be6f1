// Made-up CUPTI records: a device clock that starts at 1 ms, everything in microseconds.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "profiler/cupti/attribution.hpp"

namespace sluice::profiler::cupti::test {

inline DeviceInstant at(std::int64_t microseconds) {
  return DeviceInstant(std::chrono::milliseconds(1) + std::chrono::microseconds(microseconds));
}

inline std::chrono::steady_clock::time_point host(std::int64_t microseconds) {
  return std::chrono::steady_clock::time_point(std::chrono::hours(7) +
                                               std::chrono::microseconds(microseconds));
}

inline Activity kernel(CorrelationId correlation, std::int64_t start, std::int64_t end,
                       std::uint32_t stream = 7, const std::string& name = "gemm") {
  Activity activity;
  activity.kind = ActivityKind::kernel;
  activity.correlation = correlation;
  activity.stream = stream;
  activity.start = at(start);
  activity.end = at(end);
  activity.name = name;
  return activity;
}

inline Activity copy(CorrelationId correlation, std::int64_t start, std::int64_t end) {
  Activity activity;
  activity.kind = ActivityKind::copy;
  activity.correlation = correlation;
  activity.stream = 8;
  activity.start = at(start);
  activity.end = at(end);
  activity.bytes = 1_MiB;
  activity.copy = CopyKind::host_to_device;
  return activity;
}

inline Tag tag(CorrelationId correlation, TaskKey key) { return {correlation, external_id(key)}; }

inline ::testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << '"' << part << "\" is not in \"" << text << '"';
}

/// An empty set of records in which the host's and the device's clock agree for 100 ms.
inline RecordSet on_one_clock() {
  RecordSet records;
  records.begin = {host(0), at(0)};
  records.end = {host(100'000), at(100'000)};
  return records;
}

inline Duration us(std::int64_t microseconds) { return std::chrono::microseconds(microseconds); }

}  // namespace sluice::profiler::cupti::test
