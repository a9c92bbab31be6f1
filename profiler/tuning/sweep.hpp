// Sweeps fields of a tuned plan over their values: predicted and measured curves, their knee, and
// why going further does not help.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/predictions/stalls.hpp"
#include "planner/requests/request.hpp"
#include "profiler/tuning/autotune.hpp"

namespace sluice::profiler {

struct SweepPoint {
  std::int64_t value = 0;
  std::string plan_hash;
  bool fits = true;                 ///< Whether the plan fits; otherwise it did not run.
  Seconds predicted{0};             ///< Predicted step time.
  Seconds waits{0};                 ///< Predicted part of the step that the field could shorten.
  std::optional<Seconds> measured;  ///< Median of the measured step times.
};

struct SweepCurve {
  std::string field;
  planner::Stall stall{};          ///< The stall that the field can shorten.
  std::vector<SweepPoint> points;  ///< Points by ascending value.
  /// Index of the first point that fits and is predicted within 1 % of the best.
  std::optional<std::size_t> knee;
  std::string why;  ///< Why more does not help, in one sentence.
};

/// Parses a list of fields such as "prefetch_depth,weight_buffers". Throws BadRequest naming the
/// nearest of prefetch_depth, weight_buffers, gradient_buffers, activation_buffers, threads.
[[nodiscard]] std::vector<std::string> parse_sweep(const std::string& text);

struct SweepOptions {
  std::int64_t steps = 8;  ///< Steps of each plan, at least three.
  /// Called after each point, with its curve so far.
  std::function<void(const SweepCurve&, const SweepPoint&)> point_done;
};

/// Sweeps each field: predicts the tuned plan with this field changed to each of its values, with
/// the tuned calibration, and runs those that are valid for the job. A depth gets as many buffers
/// as it needs, and a number of buffers the depth that uses them. The curve of a field that the
/// plan does not use has no points.
[[nodiscard]] std::vector<SweepCurve> sweep(const planner::Request& run, const TuneOutcome& tuned,
                                            const std::vector<std::string>& fields,
                                            const SweepOptions& options);

/// Sets `knee` and `why` from the points.
void conclude(SweepCurve& curve);

}  // namespace sluice::profiler
