// The linear program of one node of a relaxation, and what its constraints prove.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "planner/relaxation/linear_program.hpp"
#include "planner/relaxation/plan_relaxation.hpp"

namespace sluice::planner {

/// The program of docs/design/relaxation.md. Variables in their order: x_c by group; s; d_p, u_p
/// and t_p of each part; T, which is the cost. Constraints: the limits, T as the sum of its parts,
/// and for each group as many choices as it has units.
class PlanRelaxation::Program {
 public:
  Program(const PlanRelaxation& relaxation, const RelaxedNode& node);

  /// Whether every unit has any, and ranges of counts leave one.
  [[nodiscard]] bool has_choices() const;
  [[nodiscard]] LinearSolution minimized() const { return minimize(program_); }
  /// Whether memory's constraints at these prices prove that nothing fits. Only memory can refuse a
  /// plan, for times may be of any length.
  [[nodiscard]] bool is_refused_by(const std::vector<double>& prices) const;
  /// The first choice of every group, at no prices.
  [[nodiscard]] LinearSolution at_any_choices() const;
  /// The choices' counts, made whole where rounding left them nearly so.
  void take_counts(const std::vector<double>& values, RelaxedPlan& plan) const;

  [[nodiscard]] const Constraints& limits() const { return limits_; }
  /// The sum of the constraints at these prices and at the cheapest choices. Where the prices are
  /// sound, no plan takes less time, by weak duality.
  [[nodiscard]] double priced_sum(const Constraints& constraints,
                                  const std::array<double, kLimits>& prices) const;

 private:
  /// A group g: its choices C_g, of which n_g = `count` are made together.
  struct Group {
    std::vector<UnitChoice> choices;
    double count;
    std::vector<double> RelaxedPlan::*values;
    std::vector<CountRange> ranges = {};  ///< Ranges of x_c by choice; empty: any.
  };
  /// Columns of s and of the first d_p, u_p and t_p.
  struct Columns {
    std::size_t slots = 0, downs = 0, ups = 0, parts = 0;
  };
  void add_limit(std::size_t limit, std::int64_t rounds);
  void add_sum_of_parts(std::int64_t rounds);
  void add_group_counts();
  /// Adds the ranges of a group whose first variable is column `first`.
  void add_ranges(const Group& group, std::size_t first);

  Constraints limits_;
  UseSum fixed_;
  double layers_;
  Bytes most_slots_;  ///< Bytes of one slot for a block's gradient.
  std::vector<Group> groups_;
  Columns columns_;
  LinearProgram program_;
};

}  // namespace sluice::planner
