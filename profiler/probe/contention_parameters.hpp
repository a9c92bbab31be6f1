// The numbers of the contention model that are fitted, as a vector of logarithms and as facts of a
// profile.
#pragma once

#include <vector>

#include "planner/machines/machine.hpp"

namespace sluice::profiler {

/// Logarithms, so that every number stays positive and steps are relative.
using ContentionVector = std::vector<double>;

/// The optimizer's rates alone by threads: as they were measured, or a curve of saturation through
/// them all, on which the noise of one point tells little.
enum class UpdateCurve { measured, saturating };

/// Where fits start: as many points as are worth trying, the usual numbers first, then those with
/// the firmest copies: how firm a copy is shows only where it is not firm enough. `profile` has
/// links and update curve.
[[nodiscard]] std::vector<ContentionVector> contention_starts(
    const planner::MachineProfile& profile, UpdateCurve curve);

/// How far the factors of `at` are from the usual ones, in standard deviations between machines;
/// far ones count for less, sqrt(log(1 + d^2)) in place of d.
[[nodiscard]] std::vector<double> unusual(const planner::MachineProfile& profile,
                                          const ContentionVector& at);

/// `profile` with the parameters `at`; factors of interference are at most 1. Where `at` has a
/// curve of saturation, the profile's update rates are of it.
[[nodiscard]] planner::MachineProfile with_parameters(planner::MachineProfile profile,
                                                      const ContentionVector& at);

/// States deviation and count of every parameter of `profile`, which lies at `at`.
void state_deviations(planner::MachineProfile& profile, const ContentionVector& deviations,
                      std::int64_t count);

}  // namespace sluice::profiler
