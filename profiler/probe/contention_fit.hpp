// Fits the simulator's contention model to the rates that copies and the CPU optimizer reached
// together.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "planner/machines/machine.hpp"
#include "profiler/probe/contention_grid.hpp"
#include "profiler/probe/rate_check.hpp"

namespace sluice::profiler {

struct ContentionFit {
  /// The given profile, with its links, DRAM coefficients, weights, update curve and the
  /// interference between h2d, d2h and cpu replaced.
  planner::MachineProfile profile;
  /// Every point, predicted by the parameters fitted to all points.
  std::vector<RateCheck> fitted;
  /// Every point, predicted by parameters fitted to the half that it is not in.
  std::vector<RateCheck> held_out;
  [[nodiscard]] bool holds() const;
};

/// Fits the contention model. Parameters, all through ProfileCostModel and sim::FairShare
/// (contention_rates):
///
///   from the points where something runs alone: h2d, d2h, the update curve by threads
///   fitted: dram capacity; DRAM bytes per byte copied, each way; sharing weights of both copies;
///           interference cpu < h2d, cpu < d2h, h2d < cpu, d2h < cpu, h2d < d2h, d2h < h2d
///
/// Only ratios of DRAM coefficients show in rates, so update_dram stays what the profile has, or 28
/// bytes. Least squares of relative errors, from several fixed starts: the same grid gives the same
/// numbers.
///
/// Points are halved like the squares of a board (threads, copies) and each half is predicted from
/// the other. Points where something runs alone are facts that both halves have; inner points of
/// the update curve are checked too, by interpolation between those of the other half. A
/// parameter's deviation is half the difference between the halves' values.
///
/// Throws BadRequest where the grid lacks copies alone, or updates alone on three thread counts.
[[nodiscard]] ContentionFit fit_contention(planner::MachineProfile profile,
                                           const ContentionGrid& grid);

/// A line for each rate with its errors, on fitted and on held-out points, and its worst point.
[[nodiscard]] std::string residuals_text(const ContentionFit& fit);

/// The `most` held-out rates with the largest errors, one a line.
[[nodiscard]] std::string misses_text(const ContentionFit& fit, std::size_t most);

/// `profile` with the rates of the points where one thing runs alone, and where both directions of
/// copies run together.
[[nodiscard]] planner::MachineProfile with_lone_rates(planner::MachineProfile profile,
                                                      const ContentionGrid& points);

}  // namespace sluice::profiler
