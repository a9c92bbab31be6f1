// A cell's predicted speed over that of the experiment's first cell, with the interval of the
// ratio.
#pragma once

#include <optional>
#include <vector>

#include "planner/predictions/ratio_interval.hpp"
#include "profiler/ablation/cell_result.hpp"

namespace sluice::profiler {

/// The first cell that fits, with which speeds are compared; the first of all where none fits. None
/// of `cells` may be absent.
[[nodiscard]] const CellResult& first_that_fits(
    const std::vector<std::optional<CellResult>>& cells);

/// Tokens a second of `cell` over those of `first`, as predicted. What both predictions rest on
/// cancels in the interval; where a cell was written before predictions kept the causes of their
/// errors, the interval is that of independent errors. None where one of them does not fit.
[[nodiscard]] std::optional<planner::RatioInterval> speed_beside(const CellResult& first,
                                                                 const CellResult& cell);

}  // namespace sluice::profiler
