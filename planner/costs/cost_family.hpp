// Calibrated costs of tasks that differ only in size, as a straight line in that size.
#pragma once

#include <optional>
#include <string_view>

#include "planner/costs/calibration.hpp"
#include "planner/costs/cost.hpp"

namespace sluice::planner {

/// A cost key split into a size and the texts around it, which name its family:
/// "update/cpu/t1/4096/gbf16" is size 4096 of the family "update/cpu/t1/" + "/gbf16". The texts are
/// views into the key's text, which must outlive them.
struct SizedKey {
  double size;
  std::string_view before, after;
  [[nodiscard]] bool same_family(const SizedKey& other) const {
    return before == other.before && after == other.after;
  }
};

/// Splits `key` at its last component (between slashes) that is a whole number; none where it has
/// no such component.
[[nodiscard]] std::optional<SizedKey> sized(std::string_view key);

struct SizedTime {
  double seconds;
  double relative_deviation;
};

/// What a machine profile states of a family's costs: its rate in size units per second (0 for
/// nothing), the rate's standard deviation over the rate, and fixed seconds of each task (0 for
/// none).
struct FamilyRate {
  double per_second;
  double relative_deviation;
  double fixed_seconds = 0;
};

/// Seconds of `key`, a fixed time plus a time in proportion to its size, neither negative, fitted
/// to the samples of its family by least squares of relative errors, in which far-off samples count
/// little. `stated` is one more, weak, observation for families whose samples are so small that
/// their time is all but fixed. None for a key without size or a family without samples.
[[nodiscard]] std::optional<SizedTime> from_family(const Calibration& calibration,
                                                   const CostKey& key, const FamilyRate& stated);

/// Standard deviation of the mean of the sample's measurements, over that mean.
[[nodiscard]] double relative_deviation(const CalibrationSample& sample);

}  // namespace sluice::planner
