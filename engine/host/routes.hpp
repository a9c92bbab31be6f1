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

  /// Chooses each token's `active` experts with the largest logits (the first among equals) and
  /// their shares: softmax over all experts in fp32, divided by the sum of the chosen ones if the
  /// model says so. `logits`: fp32 [tokens, experts]; `probability`: scratch, [experts]. Every
  /// token gets `active` different experts whatever the logits are, even NaN.
  void choose(const float* logits, float* probability);

  /// Writes to d_probability [experts] the gradient of one token's router probabilities, from the
  /// share gradients that set_share_gradient stored; zero for experts that were not chosen.
  /// `probability`: the token's softmax over all experts, [experts].
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
  [[nodiscard]] std::int64_t experts() const { return experts_; }

 private:
  void choose_experts(const float* logits, std::int32_t* chosen) const;
  void number_rows();
  /// Sum of value(expert, row) over the experts chosen for a token, where `row` is the row of the
  /// route to that expert.
  template <class Value>
  [[nodiscard]] float sum(std::int64_t token, const Value& value) const;
  [[nodiscard]] float chosen_probability(std::int64_t token, const float* probability) const;

  std::int64_t tokens_, experts_, active_;
  bool normalized_;
  std::int32_t *expert_, *row_, *token_, *begin_;
  float *share_, *d_share_;
};

}  // namespace sluice::engine
