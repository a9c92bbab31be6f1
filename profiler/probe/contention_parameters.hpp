// The numbers of the contention model that are fitted, as a vector of logarithms and as facts of a
// profile.
#pragma once

#include <vector>

#include "planner/machine.hpp"

namespace sluice::profiler {

/// Logarithms, so that every number stays positive and steps are relative.
using ContentionVector = std::vector<double>;

/// Where fits start: as many points as are worth trying, those with the firmest copies first: how
/// firm a copy is shows only where it is not firm enough. `profile` has links and update curve.
[[nodiscard]] std::vector<ContentionVector> contention_starts(
    const planner::MachineProfile& profile);

/// `profile` with the parameters `at`; factors of interference are at most 1.
[[nodiscard]] planner::MachineProfile with_parameters(planner::MachineProfile profile,
                                                      const ContentionVector& at);

/// States deviation and count of every parameter of `profile`, which lies at `at`.
void state_deviations(planner::MachineProfile& profile, const ContentionVector& deviations,
                      std::int64_t count);

}  // namespace sluice::profiler
