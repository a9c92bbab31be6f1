// The basis of a predicted step: every number on which its critical path rests, with its source and
// its share of the interval.
#pragma once

#include <string>
#include <vector>

#include "planner/predictions/basis_numbers.hpp"
#include "planner/predictions/interval.hpp"

namespace sluice::planner {

/// One number of the basis. Errors of the lines of one group add linearly, those of groups in
/// quadrature:
///
///   variance of the step = sum over groups (sum over the group's lines deviation)^2
struct BasisLine {
  std::string name;   ///< Meaning in words, such as "attention backward".
  std::string cause;  ///< Name of what errs; two lines of one machine with equal causes err alike.
  std::string group;
  /// Rule or datasheet of a number that was not measured, with the parts of the machine that it is
  /// for: machines that share it share its error. Empty for measured numbers.
  std::string origin;
  double value = 0;
  BasisUnit unit = BasisUnit::none;
  /// Part of the critical path that rests on the number. The lines' parts sum to the period.
  Seconds time{0};
  double relative_deviation = 0;  ///< Standard deviation of the number, relative to it.
  /// Deviation of the step by this number, in all of the time that tasks take with it, slowed or
  /// not.
  Seconds deviation{0};
  double variance_share = 0;  ///< Share of the step's variance; the lines' shares sum to 1.
  Grounds grounds = Grounds::measured;
  std::string note;  ///< Datasheet, rule, probe or runs that state the number.
};

/// What the lines of a basis are made from.
struct BasisInputs {
  const StepGraph& graph;
  const ProfileCostModel& costs;
  const std::vector<CriticalCost>& critical;  ///< critical_costs() of the graph.
  Seconds period{0};
};

/// Finest lines of the basis: one for each number and cost key, and for each cost key its part of
/// what differs between runs and of what is not simulated. Their groups combine to
/// period_deviation().
[[nodiscard]] std::vector<BasisLine> basis_lines(const BasisInputs& inputs);

/// The lines as people read them: those of one name and source as one, the largest share of the
/// variance first.
[[nodiscard]] std::vector<BasisLine> merged_lines(const std::vector<BasisLine>& lines);

/// Deviation of the step by the formula of BasisLine.
[[nodiscard]] Seconds combined_deviation(const std::vector<BasisLine>& lines);

}  // namespace sluice::planner
