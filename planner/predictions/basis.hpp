// The basis of a predicted step: every number on which its critical path rests, with its source and
// its share of the interval.
#pragma once

#include <string>
#include <vector>

#include "planner/predictions/basis_numbers.hpp"
#include "planner/predictions/interval.hpp"

namespace sluice::planner {

/// One number on which a predicted step rests, with its share of the step's uncertainty. Deviations
/// of the lines of one group add linearly, those of groups in quadrature:
///
///   variance of the step = sum over groups (sum over the group's lines deviation)^2
struct BasisLine {
  std::string name;  ///< Meaning in words, such as "attention backward".
  /// Name of what errs: of two predictions for one machine, lines with equal causes have the same
  /// error.
  std::string cause;
  std::string group;  ///< Name of the group of lines whose errors go together.
  /// Rule or datasheet of a number that was not measured, with the parts of the machine that it is
  /// for: machines that share it share its error. Empty for measured numbers.
  std::string origin;
  double value = 0;
  BasisUnit unit = BasisUnit::none;
  /// Seconds of the critical path that rest on the number. The lines' seconds sum to the period.
  Seconds time{0};
  double relative_deviation = 0;  ///< Standard deviation of the number, relative to it.
  /// Standard deviation of the step, in seconds, because of this number: over all the time of the
  /// tasks that rest on it, with what other lanes slow them.
  Seconds deviation{0};
  double variance_share = 0;  ///< Share of the step's variance; the lines' shares sum to 1.
  Grounds grounds = Grounds::measured;  ///< Where the number comes from.
  std::string note;  ///< Name of the datasheet, rule, probe or runs that state the number.
};

/// What basis_lines() makes the lines of a basis from.
struct BasisInputs {
  const StepGraph& graph;
  const ProfileCostModel& costs;
  /// The costs on the graph's critical path, by critical_costs().
  const std::vector<CriticalCost>& critical;
  Seconds period{0};  ///< The predicted step.
};

/// The finest lines of the basis of a predicted step: for each cost key on the critical path one
/// for each number that its cost is made from, one for what other lanes change of it, one for its
/// part of what differs between runs and one for its part of what is not simulated. Their groups
/// combine to period_deviation().
[[nodiscard]] std::vector<BasisLine> basis_lines(const BasisInputs& inputs);

/// The lines as people read them: lines of one name and source joined, the largest share of the
/// variance first.
[[nodiscard]] std::vector<BasisLine> merged_lines(const std::vector<BasisLine>& lines);

/// Standard deviation of the step that rests on `lines`, by the formula of BasisLine.
[[nodiscard]] Seconds combined_deviation(const std::vector<BasisLine>& lines);

}  // namespace sluice::planner
