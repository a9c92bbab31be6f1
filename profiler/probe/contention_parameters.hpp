// The fitted parameters of the contention model, as a vector of logarithms and as facts of a
// profile.
#pragma once

#include <vector>

#include "planner/machines/machine.hpp"

namespace sluice::profiler {

/// Logarithms of the parameters, so that every one stays positive and steps are relative.
using ContentionVector = std::vector<double>;

/// Model of the optimizer's rates alone by threads: the measured ones, or a curve of saturation
/// through all of them, which smooths the noise of single points.
enum class UpdateCurve { measured, saturating };

/// Starts of the fit: the usual numbers first, then those with the largest copy weights, since a
/// weight shows in rates only where it is too low. `profile` has links and update curve.
[[nodiscard]] std::vector<ContentionVector> contention_starts(
    const planner::MachineProfile& profile, UpdateCurve curve);

/// Distance of the factors of `at` from the usual ones, in standard deviations between machines;
/// far ones count less: sqrt(log(1 + d^2)) in place of d.
[[nodiscard]] std::vector<double> unusual(const planner::MachineProfile& profile,
                                          const ContentionVector& at);

/// `profile` with the parameters `at`; interference factors are at most 1. Where `at` has a curve
/// of saturation, the profile's update rates come from it.
[[nodiscard]] planner::MachineProfile with_parameters(planner::MachineProfile profile,
                                                      const ContentionVector& at);

/// Sets deviation and count of every fitted parameter of `profile`.
void state_deviations(planner::MachineProfile& profile, const ContentionVector& deviations,
                      std::int64_t count);

}  // namespace sluice::profiler
