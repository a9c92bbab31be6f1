// Which tokens of a micro-batch go to which experts, and with what share: the router's decision as
// rows grouped by expert. docs/design/moe.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "planner/models/job.hpp"
#include "planner/scratch/workspace.hpp"

namespace sluice::engine {

/// A view of a task's scratch (planner::RouteWorkspace has the shapes). A route is one token's way
/// through one of its experts; rows are numbered by expert, then by token.
class Routes {
 public:
  Routes(const planner::Job& job, const planner::RouteWorkspace& space, std::byte* workspace,
         std::int64_t tokens);

  /// Chooses each token's `active` experts of the largest logits (of equal ones the first) and
  /// their shares: softmax over all experts in fp32, divided by the sum of the chosen ones where
  /// the model says so. `logits` fp32 [tokens, experts]; `probability` is scratch, [experts].
  /// Whatever the logits are, even NaN, every token has `active` different experts.
  void choose(const float* logits, float* probability);

  /// d_probability [experts] of one token's softmax, from d_share; zero for experts not chosen.
  void probability_gradient(std::int64_t token, const float* probability,
                            float* d_probability) const;

  /// Of expert number `experts()`: the number of all rows.
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
  /// Sum over the token's experts of what `value` of (expert, row) gives.
  template <class Value>
  [[nodiscard]] float sum(std::int64_t token, const Value& value) const;
  [[nodiscard]] float chosen_probability(std::int64_t token, const float* probability) const;

  std::int64_t tokens_, experts_, active_;
  bool normalized_;
  std::int32_t *expert_, *row_, *token_, *begin_;
  float *share_, *d_share_;
};

}  // namespace sluice::engine
