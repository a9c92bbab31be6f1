// Calibration: append-only samples of what tasks cost on one machine, keyed by its profile's hash.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "planner/costs/cost.hpp"
#include "sim/trace.hpp"

namespace sluice::planner {

/// The `source` of samples that were not measured but derived from measured passes of other shapes
/// (with_siblings). Costs that rest on them count as fitted, not measured.
inline constexpr const char* kSiblingSource = "sibling";

/// Measurements of the tasks of one cost key: their mean, deviation and number.
struct CalibrationSample {
  std::string profile_hash;
  CostKey key;
  /// Seconds of one task running alone (latency included, links uncontended); for keys that name a
  /// rate (is_rate), amount per second.
  double value = 0;
  double deviation = 0;  ///< Standard deviation of one measurement, in the unit of `value`.
  std::int64_t count = 1;
  /// The command that measured, such as "autotune" or "train", or kSiblingSource.
  std::string source;
  std::string time;  ///< UTC time of the measurement, such as "2026-01-31T12:00:00Z".
  /// The clock that measured: CUPTI's records, CUDA events, or the CPU's clock.
  sim::SpanSource timing = sim::SpanSource::clock;
  friend bool operator==(const CalibrationSample&, const CalibrationSample&) = default;
};

using Calibration = std::map<CostKey, CalibrationSample>;

/// Merges two samples of one key: the mean weighted by count, and the deviation of all measurements
/// together. Time, source and clock are those of the later sample.
[[nodiscard]] CalibrationSample merge(const CalibrationSample& a, const CalibrationSample& b);

/// Merges what several runs measured with what was known before them. `learnt`, the calibration
/// after one run, began as a copy of `known`; each of its samples whose value changed by more than
/// rounding is merged with the known sample of its key. So the result does not depend on the order
/// of runs.
[[nodiscard]] Calibration merged(const Calibration& known, Calibration learnt);

/// Appends `samples` to `file`, one JSON line each, and flushes. Throws EnvironmentError when the
/// disk is full; earlier lines stay whole.
void append_calibration(const std::filesystem::path& file,
                        std::span<const CalibrationSample> samples);
/// Appends a line to `file` that makes load_calibration forget all earlier samples of
/// `profile_hash`.
void reset_calibration(const std::filesystem::path& file, const std::string& profile_hash);
/// Reads the samples of `profile_hash` from `file`, merged by key; empty where there is no file. A
/// last line that a crash cut short is ignored; any other malformed line throws BadRequest with its
/// number.
[[nodiscard]] Calibration load_calibration(const std::filesystem::path& file,
                                           const std::string& profile_hash);

/// The current UTC time to the second, such as "2026-01-31T12:00:00Z".
[[nodiscard]] std::string utc_now();

}  // namespace sluice::planner
