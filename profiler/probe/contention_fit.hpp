// Fit of the simulator's contention model to the rates that copies and the CPU optimizer reached
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
  /// The profile that was given, with its links, DRAM coefficients, weights, update curve and the
  /// interference between h2d, d2h and cpu replaced by fitted values.
  planner::MachineProfile profile;
  /// Every measured rate beside the model's, with parameters fitted to all points.
  std::vector<RateCheck> fitted;
  /// Every measured rate beside the model's, with parameters fitted to the half of the points that
  /// its point is not in.
  std::vector<RateCheck> held_out;
  [[nodiscard]] bool holds() const;
};

/// Fits the contention model (docs/design/contention.md). Parameters, all through ProfileCostModel
/// and sim::FairShare (contention_rates):
///
///   from the points where something runs alone: h2d, d2h, the update curve by threads
///   fitted: dram capacity; DRAM bytes per byte copied, each way; sharing weights of both copies;
///           interference cpu < h2d, cpu < d2h, h2d < cpu, d2h < cpu, h2d < d2h, d2h < h2d; the
///           first two at the fewest and at the most threads, d2h < cpu at half of the most (and
///           below) and at the most
///
/// Only ratios of DRAM coefficients show in rates, so update_dram stays what the profile has, or 28
/// bytes. Least squares of relative errors, from several fixed starts: the same grid gives the same
/// numbers. An error counts less where the rate's repetitions differ.
///
/// Points are halved like the squares of a board (threads, copies) and each half is predicted from
/// the other. Points where something runs alone are facts that both halves have; inner points of
/// the update curve are checked too, by interpolation between those of the other half. A
/// parameter's deviation is half the difference between the halves' values.
///
/// Throws BadRequest where the grid lacks copies alone, or updates alone on three thread counts.
[[nodiscard]] ContentionFit fit_contention(planner::MachineProfile profile,
                                           const ContentionGrid& grid);

/// Table of errors: a line for each kind of rate with its errors on fitted and on held-out points,
/// and its worst point.
[[nodiscard]] std::string residuals_text(const ContentionFit& fit);

/// Lines for the `most` held-out rates with the largest errors, one each.
[[nodiscard]] std::string misses_text(const ContentionFit& fit, std::size_t most);

/// `profile` with the measured rates of the points where one thing runs alone, and where copies run
/// in both directions and nothing else; a copy is at least as fast as beside the optimizer.
[[nodiscard]] planner::MachineProfile with_lone_rates(planner::MachineProfile profile,
                                                      const ContentionGrid& points);

}  // namespace sluice::profiler
