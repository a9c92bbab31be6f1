// Mixtures of experts: a block's router and the feed-forward networks that it chooses from.
#pragma once

#include <cstdint>

namespace sluice::planner {

/// How a router's logits become the weights of a token's experts.
enum class RouterScore {
  softmax,  ///< Softmax over all experts.
  sigmoid,  ///< Sigmoid of each logit.
};

/// What a group of experts is chosen by.
enum class GroupScore {
  two_best,  ///< Sum of the two largest scores in the group.
  best,      ///< Largest score in the group.
};

/// Mixture of experts: feed-forward networks of which each token uses a few, chosen by a router.
struct Experts {
  std::int64_t count = 0;         ///< Experts of one block.
  std::int64_t active = 0;        ///< Experts that one token passes through.
  std::int64_t intermediate = 0;  ///< Width of a single expert's hidden layer, in elements.
  /// Whether the weights of a token's active experts add up to 1, before `scaling`.
  bool normalized = true;
  bool router_bias = false;  ///< Whether the router's logits have biases (gpt_oss).
  RouterScore score = RouterScore::softmax;
  /// Whether experts are chosen by score plus a bias that is no part of their weights: a buffer of
  /// the checkpoint that training leaves as it is.
  bool correction_bias = false;
  /// Equal groups that experts are divided into, and those of them that a token may choose from.
  std::int64_t groups = 1, active_groups = 1;
  GroupScore group_score = GroupScore::two_best;
  double scaling = 1;  ///< Factor of the weights of a token's experts.
  /// Width of an expert that every token passes through beside those chosen; 0 for none.
  std::int64_t shared_intermediate = 0;
  /// Whether the shared expert's output is multiplied by the sigmoid of a product of the token.
  bool shared_gate = false;
  friend bool operator==(const Experts&, const Experts&) = default;
};

}  // namespace sluice::planner
