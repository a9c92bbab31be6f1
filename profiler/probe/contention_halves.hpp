// A contention grid in two halves, each of which is predicted from the other.
#pragma once

#include <array>

#include "profiler/probe/contention_grid.hpp"

namespace sluice::profiler {

/// Points that a half is fitted to and those it predicts, for the grid and for the update curve.
/// Points where something runs alone are in both halves.
struct ContentionHalf {
  ContentionGrid fitted, held_out;
  ContentionGrid curve, held_out_of_curve;
};

/// Splits a grid. Throws BadRequest where it lacks what a fit needs (fit_contention).
[[nodiscard]] std::array<ContentionHalf, 2> halve(const ContentionGrid& grid);

}  // namespace sluice::profiler
