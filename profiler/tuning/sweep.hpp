// Sweep of fields of a tuned plan over their values: predicted and measured curves, their knee, and
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
  bool fits = true;      ///< Whether the plan with this value fits; if not, it did not run.
  Seconds predicted{0};  ///< Predicted step time of the plan with this value.
  Seconds waits{0};      ///< Predicted part of the step that a larger value could shorten.
  /// Median of the measured step times; none where the plan did not run.
  std::optional<Seconds> measured;
};

struct SweepCurve {
  std::string field;
  planner::Stall stall{};  ///< Kind of waiting that a larger value of the field can shorten.
  /// Points of the curve by ascending value; none for a field that the plan does not use.
  std::vector<SweepPoint> points;
  /// Index of the first point that fits and is predicted within 1 % of the best; none where no
  /// point fits.
  std::optional<std::size_t> knee;
  std::string why;  ///< Why a larger value does not help, in one sentence.
};

/// Parses a comma-separated list of plan fields such as "prefetch_depth,weight_buffers". Throws
/// BadRequest naming the nearest of prefetch_depth, weight_buffers, gradient_buffers,
/// activation_buffers, threads.
[[nodiscard]] std::vector<std::string> parse_sweep(const std::string& text);

struct SweepOptions {
  std::int64_t steps = 8;  ///< Number of steps for which each plan runs, at least three.
  /// Function that is called after each point, with the point and its curve so far.
  std::function<void(const SweepCurve&, const SweepPoint&)> point_done;
};

/// Sweeps each of `fields`: predicts the tuned plan, with the tuned calibration and with this field
/// changed to each of its values that is valid for the job, and runs the plans that fit. A depth
/// gets as many buffers as it needs, and a number of buffers the depth that uses them. The curve of
/// a field that the plan does not use has no points.
[[nodiscard]] std::vector<SweepCurve> sweep(const planner::Request& run, const TuneOutcome& tuned,
                                            const std::vector<std::string>& fields,
                                            const SweepOptions& options);

/// Sets the curve's `knee` and `why` from its points.
void conclude(SweepCurve& curve);

}  // namespace sluice::profiler
