// Errors of predicted steps by their causes, and the interval of the ratio of two steps, in which
// errors that both share cancel.
#pragma once

#include <string>
#include <vector>

#include "planner/predictions/basis.hpp"
#include "sim/json_object.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// One cause of a predicted step's error. The members are those of BasisLine: what errs, the group
/// with which it errs together, the rule or datasheet behind it, and the step's deviation because
/// of it.
struct StepError {
  std::string cause, group, origin;
  Seconds deviation{0};
  friend bool operator==(const StepError&, const StepError&) = default;
};

/// A predicted step with the causes of its error.
struct StepErrors {
  Seconds step{0};
  /// Name of the machine whose measurements the step rests on: the hash of its profile before the
  /// run's values. Predictions for one machine share all its numbers.
  std::string machine;
  std::vector<StepError> causes;  ///< Each cause of a group once, sorted by group and cause.
  /// Standard deviation of the step: linear within groups, in quadrature between them.
  [[nodiscard]] Seconds deviation() const;
};

/// The causes of the error of a predicted `step`, from all lines of its basis (basis_lines).
[[nodiscard]] StepErrors step_errors(const std::vector<BasisLine>& lines, Seconds step,
                                     const std::string& machine);

/// A ratio of two predicted steps with its 90 % interval.
struct RatioInterval {
  double ratio = 1;
  double low = 1, high = 1;  ///< 90 % interval of the ratio.
  double deviation = 0;      ///< Standard deviation of the ratio over the ratio.
  friend bool operator==(const RatioInterval&, const RatioInterval&) = default;
};

/// The step `a` over the step `b`. To first order the relative error of the ratio is a sum over
/// causes e of (a_e / a - b_e / b): what both rest on in the same measure cancels. Two steps share
/// a cause where they are for one machine, or where both rest on the same rule or datasheet of the
/// same parts (StepError::origin). With D = a_e / a - b_e / b of a shared cause:
///
///   variance = sum over groups max((sum D)^2, sum D^2)
///            + what only `a` rests on + what only `b` rests on
///
/// the last two as in StepErrors::deviation(). How far numbers of one group err together is not
/// known: the larger of the variances of perfect and of no correlation counts. Where nothing is
/// shared, the errors of both sides add in quadrature; a step over itself is 1 without error.
[[nodiscard]] RatioInterval ratio_interval(const StepErrors& a, const StepErrors& b);

/// The ratio as text with its interval, such as "1.24 (1.19 to 1.29)".
[[nodiscard]] std::string to_text(const RatioInterval& ratio);
/// JSON object {"ratio", "low", "high"}.
[[nodiscard]] sim::Json ratio_json(const RatioInterval& ratio);

/// The errors as a JSON object {"step_s", "machine", "causes"}.
[[nodiscard]] sim::Json errors_json(const StepErrors& errors);
/// Reads what errors_json() wrote. Throws BadRequest.
[[nodiscard]] StepErrors read_errors(const sim::JsonObject& json);

}  // namespace sluice::planner
