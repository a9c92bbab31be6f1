// A grid of contended rates in two halves, each of which is to predict the other.
#pragma once

#include <array>

#include "profiler/probe/contention_grid.hpp"

namespace sluice::profiler {

/// Both halves have all facts; of the update curve, each is also checked without its half.
struct ContentionHalf {
  ContentionGrid fitted, held_out;
  ContentionGrid curve, held_out_of_curve;
};

/// Throws BadRequest where the grid lacks what a fit needs (fit_contention).
[[nodiscard]] std::array<ContentionHalf, 2> halve(const ContentionGrid& grid);

}  // namespace sluice::profiler
