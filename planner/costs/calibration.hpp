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

/// One or more measurements of the tasks of a cost key.
struct CalibrationSample {
  std::string profile_hash;
  CostKey key;
  /// Seconds of a task running alone (its latency and links uncontended); for keys that name a
  /// rate, amount per second.
  double value = 0;
  double deviation = 0;  ///< Standard deviation of one measurement, same unit.
  std::int64_t count = 1;
  std::string source;  ///< "autotune", "probe", "train": who measured.
  std::string time;    ///< UTC, "2026-01-31T12:00:00Z".
  /// By what clock: CUPTI's records, CUDA events, or the CPU's.
  sim::SpanSource timing = sim::SpanSource::clock;
  friend bool operator==(const CalibrationSample&, const CalibrationSample&) = default;
};

using Calibration = std::map<CostKey, CalibrationSample>;

/// Count-weighted mean; the deviation is that of all measurements together. The later time stays,
/// with who measured and how.
[[nodiscard]] CalibrationSample merge(const CalibrationSample& a, const CalibrationSample& b);

/// `learnt`, which began with `known`: a key that was known and came out with another value (by
/// more than rounding) is merged, so that what runs taught does not depend on their order.
[[nodiscard]] Calibration merged(const Calibration& known, Calibration learnt);

/// Appends and flushes one JSON line a sample. Throws EnvironmentError when the disk is full;
/// earlier lines stay whole.
void append_calibration(const std::filesystem::path& file,
                        std::span<const CalibrationSample> samples);
/// Appends a line that makes load_calibration forget everything of `profile_hash` before it.
void reset_calibration(const std::filesystem::path& file, const std::string& profile_hash);
/// Samples of `profile_hash`, merged by key; empty where there is no file. A last line that a
/// crash cut short is ignored; any other malformed line throws BadRequest with its number.
[[nodiscard]] Calibration load_calibration(const std::filesystem::path& file,
                                           const std::string& profile_hash);

/// Now, UTC, to the second.
[[nodiscard]] std::string utc_now();

}  // namespace sluice::planner
