// The linear program of one node of a relaxation, and what its rows prove.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "planner/relaxation/linear_program.hpp"
#include "planner/relaxation/plan_relaxation.hpp"

namespace sluice::planner {

/// Variables: how often each choice is made, by group; slots for gradients; of each part its copies
/// to the device, those from it and its time; the step's time, which is the cost. Rows: the limits,
/// the step as the sum of its parts, and of each group as many choices as it has units.
class PlanRelaxation::Program {
 public:
  Program(const PlanRelaxation& relaxation, const RelaxedNode& node);

  /// Whether every unit has any, and ranges of counts leave one.
  [[nodiscard]] bool has_choices() const;
  [[nodiscard]] LinearSolution minimized() const { return minimize(program_); }
  /// Whether memory's rows at these prices prove that nothing fits. Only memory can refuse a plan,
  /// for times may be of any length.
  [[nodiscard]] bool is_refused_by(const std::vector<double>& prices) const;
  /// The first choice of every group, at no prices.
  [[nodiscard]] LinearSolution at_any_choices() const;
  /// The choices' counts, made whole where rounding left them nearly so.
  void take_counts(const std::vector<double>& values, RelaxedPlan& plan) const;

  [[nodiscard]] const Rows& limits() const { return limits_; }
  /// The sum of `rows` at these prices and at the cheapest choices. Weak duality holds at any
  /// prices: where they are sound, no plan takes less.
  [[nodiscard]] double priced_sum(const Rows& rows,
                                  const std::array<double, kLimits>& prices) const;

 private:
  /// Choices, each made a number of times, that are `count` together.
  struct Group {
    std::vector<UnitChoice> choices;
    double count;
    std::vector<double> RelaxedPlan::*values;
    std::vector<CountRange> ranges = {};  ///< By choice; empty: any.
  };
  /// Where variables lie.
  struct Columns {
    std::size_t slots = 0, downs = 0, ups = 0, parts = 0;
  };
  void add_limit(std::size_t limit, std::int64_t rounds);
  void add_sum_of_parts(std::int64_t rounds);
  void add_group_counts();
  /// Of the group whose first variable this is.
  void add_ranges(const Group& group, std::size_t first);

  Rows limits_;
  UseSum fixed_;
  double layers_;
  Bytes most_slots_;  ///< Of each block.
  std::vector<Group> groups_;
  Columns columns_;
  LinearProgram program_;
};

}  // namespace sluice::planner
