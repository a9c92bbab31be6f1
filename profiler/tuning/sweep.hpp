// One field of a tuned plan after another, over its values: predicted and measured curves, their
// knee, and why going further does not help.
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
  bool fits = true;                 ///< Otherwise it did not run.
  Seconds predicted{0};             ///< A step.
  Seconds waits{0};                 ///< Predicted: of the step, what the field could shorten.
  std::optional<Seconds> measured;  ///< Median.
};

struct SweepCurve {
  std::string field;
  planner::Stall stall{};           ///< What the field is there to shorten.
  std::vector<SweepPoint> points;   ///< Ascending values.
  std::optional<std::size_t> knee;  ///< First point within 1 % of the best predicted that fits.
  std::string why;                  ///< Why more does not help, one sentence.
};

/// "prefetch_depth,weight_buffers" as fields. Throws BadRequest naming the nearest, where one is
/// none of prefetch_depth, weight_buffers, gradient_buffers, activation_buffers, threads.
[[nodiscard]] std::vector<std::string> parse_sweep(const std::string& text);

struct SweepOptions {
  std::int64_t steps = 8;  ///< Of each plan, at least three.
  /// After each point, with its curve so far.
  std::function<void(const SweepCurve&, const SweepPoint&)> point_done;
};

/// Every plan that is one of the job's, the tuned one with one field changed: predicted with the
/// tuned calibration, then run. A depth has as many buffers as it needs, and a number of buffers
/// the depth that uses them. A field that the plan has no use for comes back without points.
[[nodiscard]] std::vector<SweepCurve> sweep(const planner::Request& run, const TuneOutcome& tuned,
                                            const std::vector<std::string>& fields,
                                            const SweepOptions& options);

/// Sets `knee` and `why` from the points.
void conclude(SweepCurve& curve);

}  // namespace sluice::profiler
