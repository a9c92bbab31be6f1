// The linear program of one node of a relaxation, and what its constraints prove.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "planner/relaxation/linear_program.hpp"
#include "planner/relaxation/plan_relaxation.hpp"

namespace sluice::planner {

/// The program of docs/design/relaxation.md for one node. Variables in their order: x_c by group;
/// s; down_p, up_p and t_p of each part; T, which is the cost. Constraints: those of Limit, T as
/// the sum of its parts, and for each group as many choices as it has units.
class PlanRelaxation::Program {
 public:
  Program(const PlanRelaxation& relaxation, const RelaxedNode& node);

  /// Whether a solution can exist by counts alone: each group (blocks' records, blocks'
  /// residencies, embedding, head) has a choice, and where the node has ranges for its counts,
  /// their lower ends sum to at most its number of units and their upper ends to at least that.
  [[nodiscard]] bool has_choices() const;
  [[nodiscard]] LinearSolution minimized() const { return minimize(program_); }
  /// Whether the constraints of memory at `prices` prove that no plan of the node fits. Only memory
  /// can refuse a plan, for times may be of any length.
  [[nodiscard]] bool is_refused_by(const std::vector<double>& prices) const;
  /// A solution in which every unit makes the first choice of its group, with all prices 0.
  [[nodiscard]] LinearSolution at_any_choices() const;
  /// Copies the numbers of units by choice from `values` to `plan`, made whole where rounding left
  /// them nearly so.
  void take_counts(const std::vector<double>& values, RelaxedPlan& plan) const;

  [[nodiscard]] const Constraints& limits() const { return limits_; }
  /// Sum of the left sides of `constraints`, weighed by `prices`, at the choices of the node's
  /// units that make it least. Where the prices are sound no plan of the node takes less time, by
  /// weak duality.
  [[nodiscard]] double priced_sum(const Constraints& constraints,
                                  const std::array<double, kLimits>& prices) const;

 private:
  /// A group g of units that have the same choices C_g; n_g = `count` units choose.
  struct Group {
    std::vector<UnitChoice> choices;
    double count;
    std::vector<double> RelaxedPlan::*values;
    /// Ranges of x_c by index of the choice; empty for any counts.
    std::vector<CountRange> ranges = {};
  };
  /// Columns of the variables: of s, of the first down_p, of the first up_p and of the first t_p.
  struct Columns {
    std::size_t slots = 0, downs = 0, ups = 0, parts = 0;
  };
  void add_limit(std::size_t limit, std::int64_t rounds);
  void add_sum_of_parts(std::int64_t rounds);
  void add_group_counts();
  /// Adds constraints for the ranges of a group whose first variable x_c is column `first`.
  void add_ranges(const Group& group, std::size_t first);

  Constraints limits_;
  UseSum fixed_;
  double layers_;
  /// Bytes of one slot for a block's gradient. s is at most that for each block, since more slots
  /// than blocks are of no use.
  Bytes most_slots_;
  std::vector<Group> groups_;
  Columns columns_;
  LinearProgram program_;
};

}  // namespace sluice::planner
