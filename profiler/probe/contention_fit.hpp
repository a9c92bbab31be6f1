// Fits the simulator's contention model to what copies and the CPU optimizer reached together.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "planner/machines/machine.hpp"
#include "profiler/probe/contention_grid.hpp"
#include "profiler/probe/rate_check.hpp"

namespace sluice::profiler {

struct ContentionFit {
  /// The profile that was given with its links, DRAM coefficients, weights, update curve and the
  /// interference among h2d, d2h and cpu replaced; what else it has is kept.
  planner::MachineProfile profile;
  std::vector<RateCheck> fitted;    ///< Every point, by the parameters fitted to all.
  std::vector<RateCheck> held_out;  ///< Each by parameters that its half had no part in.
  [[nodiscard]] bool holds() const;
};

/// Parameters, all through ProfileCostModel and sim::FairShare (contention_rates):
///   from the points where something runs alone: h2d, d2h, the update curve by threads
///   fitted: dram capacity; DRAM bytes per byte copied, each way; sharing weights of both copies;
///           interference cpu < h2d, cpu < d2h, h2d < cpu, d2h < cpu, h2d < d2h, d2h < h2d
/// Only ratios of DRAM coefficients show in rates, so update_dram stays what the profile has, or
/// 28 bytes. Least squares of relative errors, from several starts, without chance: the same grid
/// gives the same numbers.
///
/// Points are halved like the squares of a board (threads, copies) and each half is predicted from
/// the other. Points where something runs alone are facts that both halves have; inner points of
/// the update curve are checked too, by interpolation between those of the other half. A
/// parameter's deviation is half the difference between the halves' values.
///
/// Throws BadRequest where the grid lacks lone copies, or updates on fewer than three thread
/// counts.
[[nodiscard]] ContentionFit fit_contention(planner::MachineProfile profile,
                                           const ContentionGrid& grid);

/// For people: a line for each rate, on fitted and on held-out points, with its worst point.
[[nodiscard]] std::string residuals_text(const ContentionFit& fit);

/// The `most` held-out rates with the largest errors, one a line.
[[nodiscard]] std::string misses_text(const ContentionFit& fit, std::size_t most);

/// `profile` with the rates that points state where one thing runs alone, and both directions
/// together.
[[nodiscard]] planner::MachineProfile with_lone_rates(planner::MachineProfile profile,
                                                      const ContentionGrid& points);

}  // namespace sluice::profiler
