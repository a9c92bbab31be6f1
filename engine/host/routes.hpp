// Routing of a micro-batch's tokens to experts: the router's decision as rows grouped by expert
// (docs/design/moe.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "planner/models/job.hpp"
#include "planner/scratch/workspace.hpp"

namespace sluice::engine {

/// View of a task's routing scratch (planner::RouteWorkspace has the shapes). A route is a pair of
/// a token and one of its experts, with a share; rows are routes numbered by expert, then by token.
class Routes {
 public:
  Routes(const planner::Job& job, const planner::RouteWorkspace& space, std::byte* workspace,
         std::int64_t tokens);

  /// Chooses each token's `active` experts with the largest scores (the first among equals) and
  /// their shares: the scores of the chosen, divided by their sum if the model says so, times the
  /// model's factor. `correction` [experts], which may be null, is added to scores in the choice
  /// alone. Where experts have groups, a token chooses from the best of them (planner::GroupScore).
  /// `logits`: fp32 [tokens, experts]; `probability`: scratch, [experts]. Every token
  /// gets `active` different experts whatever the logits are, even NaN.
  void choose(const float* logits, const float* correction, float* probability);
  /// Writes the scores of one token, [experts], from its logits: their softmax or their sigmoids.
  void score(const float* logits, float* probability) const;

  /// Writes to d_probability [experts] the gradient of one token's router probabilities, from the
  /// share gradients that set_share_gradient stored; zero for experts that were not chosen.
  /// `probability`: the token's scores, [experts].
  void probability_gradient(std::int64_t token, const float* probability,
                            float* d_probability) const;

  /// Index of the first row among all routes that belongs to `expert`; the number of all rows for
  /// `expert` = experts().
  [[nodiscard]] std::int64_t first_row(std::int64_t expert) const { return begin_[expert]; }
  [[nodiscard]] std::int64_t rows(std::int64_t expert) const {
    return begin_[expert + 1] - begin_[expert];
  }
  [[nodiscard]] std::int64_t token(std::int64_t row) const { return token_[row]; }
  [[nodiscard]] float share(std::int64_t row) const { return share_[row]; }
  void set_share_gradient(std::int64_t row, float gradient) { d_share_[row] = gradient; }
  [[nodiscard]] float share_gradient(std::int64_t row) const { return d_share_[row]; }
  [[nodiscard]] std::int64_t experts() const { return experts_; }

 private:
  /// Chooses a token's experts by the largest of `values` [experts].
  void choose_experts(const float* values, std::int32_t* chosen) const;
  /// Gives experts of groups that a token does not choose from the lowest value there is.
  void leave_groups(float* values) const;
  /// What groups are chosen by: the largest of a group's values, or the sum of its two largest.
  [[nodiscard]] float group_value(const float* values, std::int64_t group) const;
  void number_rows();
  /// Sum of value(expert, row) over the experts chosen for a token, where `row` is the row of the
  /// route to that expert.
  template <class Value>
  [[nodiscard]] float sum(std::int64_t token, const Value& value) const;
  [[nodiscard]] float chosen_probability(std::int64_t token, const float* probability) const;

  const planner::Experts& model_;
  std::int64_t tokens_, experts_, active_;
  std::int32_t *expert_, *row_, *token_, *begin_;
  float *share_, *d_share_;
};

}  // namespace sluice::engine
