// Division of a contention grid into two halves, each of which is predicted from the other.
#pragma once

#include <array>

#include "profiler/probe/contention_grid.hpp"

namespace sluice::profiler {

/// Points that a fit uses and points that it then predicts: for the whole grid, and for the update
/// curve alone. Points where something runs alone are used for both halves.
struct ContentionHalf {
  ContentionGrid fitted, held_out;
  ContentionGrid curve, held_out_of_curve;
};

/// Divides a grid into two halves. Throws BadRequest where it lacks what a fit needs
/// (fit_contention).
[[nodiscard]] std::array<ContentionHalf, 2> halve(const ContentionGrid& grid);

}  // namespace sluice::profiler
