// One transformer block in double precision, token by token, by the equations of
// docs/design/host-templates.md and docs/design/moe.md.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/host/unit_slots.hpp"
#include "planner/models/shape.hpp"

namespace sluice::engine::testing {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

/// Sums for transformers' load_balancing_loss_func: experts * sum over experts of the routes to it
/// and its mean probability, both over tokens and blocks.
struct Balance {
  std::vector<double> routes, probability;
  double places = 0;
  void add(const Row& token, const std::vector<std::size_t>& chosen) {
    routes.resize(token.size());
    probability.resize(token.size());
    for (const std::size_t expert : chosen) routes[expert] += 1;
    for (std::size_t i = 0; i < token.size(); ++i) probability[i] += token[i];
    places += 1;
  }
  [[nodiscard]] double loss() const {
    if (routes.empty()) return 0;
    double sum = 0;
    for (std::size_t i = 0; i < routes.size(); ++i) sum += routes[i] * probability[i];
    return sum * static_cast<double>(routes.size()) / (places * places);
  }
};

/// RMS norm of x by the norm at `weight` in its unit; x itself where there is no such norm.
[[nodiscard]] Row normed(const planner::ModelShape& shape, const Row& x, const Slot& weight,
                         const double* unit);
[[nodiscard]] Row project(const Row& x, const Projection& projection, const double* unit);
/// `bound` tanh(x / bound); x where there is no bound.
[[nodiscard]] double capped(double x, std::optional<double> bound);

class ReferenceBlock {
 public:
  /// A block of `uniform`, a model whose layers are of one kind.
  ReferenceBlock(planner::ModelShape uniform, std::int64_t seq_len);
  /// Passes the residual stream of one sequence through the block, whose weights are `unit`.
  void apply(Rows& x, const double* unit, Balance& balance) const;

 private:
  void norm_heads(Row& x, const Slot& norm, const double* unit) const;
  void rotate(Row& x, std::int64_t position) const;
  [[nodiscard]] Row attend(const Rows& q, const Rows& k, const Rows& v, std::size_t query,
                           const double* unit) const;
  [[nodiscard]] double activation(double gate, double up) const;
  [[nodiscard]] Row feed_forward(const Row& y, const Projection& gate, const Projection& up,
                                 const Projection& down, const double* unit) const;
  /// Numbers of the experts that a token with these scores passes through.
  [[nodiscard]] std::vector<std::size_t> choose(const Row& scores, const double* unit) const;
  [[nodiscard]] Row mix_experts(const Row& y, const double* unit, Balance& balance) const;

  planner::ModelShape shape_;
  BlockSlots slots_;
  std::vector<double> frequencies_;  ///< Angles per position of the pairs that turn.
  double amplitude_ = 1;
};

}  // namespace sluice::engine::testing
