// Parameters of the contention model that are fitted, as a vector of logarithms and as facts of a
// profile.
#pragma once

#include <vector>

#include "planner/machines/machine.hpp"

namespace sluice::profiler {

/// Logarithms of the fitted parameters, so that every parameter stays positive and steps are
/// relative.
using ContentionVector = std::vector<double>;

/// How the model gives the rate of the optimizer alone by threads: the measured rates, or a curve
/// of saturation through all of them, which smooths the noise of single points.
enum class UpdateCurve { measured, saturating };

/// Starting points of the fit: the usual numbers first, then others with the largest sharing
/// weights of copies, since a weight shows in rates only where it is too low. `profile` must have
/// links and update curve.
[[nodiscard]] std::vector<ContentionVector> contention_starts(
    const planner::MachineProfile& profile, UpdateCurve curve);

/// Distances of the interference factors in `at` from the usual ones, in standard deviations
/// between machines. Far ones count less: sqrt(log(1 + d^2)) in place of d.
[[nodiscard]] std::vector<double> unusual(const planner::MachineProfile& profile,
                                          const ContentionVector& at);

/// `profile` with the parameters `at`; interference factors are at most 1. Where `at` has a curve
/// of saturation, the profile's update rates are taken from it.
[[nodiscard]] planner::MachineProfile with_parameters(planner::MachineProfile profile,
                                                      const ContentionVector& at);

/// Sets the deviation of every fitted parameter of `profile` to that in `deviations`, and its
/// sample count to `count`.
void state_deviations(planner::MachineProfile& profile, const ContentionVector& deviations,
                      std::int64_t count);

}  // namespace sluice::profiler
