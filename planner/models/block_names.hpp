// Names of a block's tensors as a family's checkpoints have them, and how they lie there.
#pragma once

#include <string_view>

namespace sluice::planner {

/// Parts of the names of experts' and routers' tensors. Each has static storage.
struct ExpertNames {
  std::string_view router = "mlp.gate";  ///< Name of the router in a block, without ".weight".
  /// Name of the bias by which experts are chosen, if there is one.
  std::string_view correction_bias = "mlp.gate.e_score_correction_bias";
  /// Whether a checkpoint has that bias as a matrix of one row.
  bool correction_row = false;
  std::string_view experts = "mlp.experts.";  ///< Prefix before an expert's number.
  /// Names of an expert's three projections, behind the expert's number and a dot.
  std::string_view gate = "gate_proj", up = "up_proj", down = "down_proj";
  std::string_view shared = "mlp.shared_expert";  ///< Name of the shared expert.
  /// Name of the matrix of one row whose sigmoid multiplies the shared expert's output.
  std::string_view shared_switch = "mlp.shared_expert_gate";
  /// Whether a checkpoint stacks all experts in one tensor [experts, hidden, 2 intermediate] whose
  /// columns alternate between gate and up, and in one [experts, intermediate, hidden] (gpt_oss).
  bool stacked = false;
  friend bool operator==(const ExpertNames&, const ExpertNames&) = default;
};

/// Experts as mixtral names them.
inline constexpr ExpertNames kMixtralExperts{
    .router = "block_sparse_moe.gate",
    .correction_bias = "block_sparse_moe.e_score_correction_bias",
    .experts = "block_sparse_moe.experts.",
    .gate = "w1",
    .up = "w3",
    .down = "w2"};

/// Names of a block's tensors behind "model.layers.N.", without ".weight". Each has static storage.
struct BlockNames {
  std::string_view norm_before_attention = "input_layernorm";
  std::string_view norm_after_attention = "post_attention_layernorm";
  std::string_view norm_before_mlp = "post_attention_layernorm";
  std::string_view norm_after_mlp = "post_feedforward_layernorm";
  std::string_view q_norm = "self_attn.q_norm", k_norm = "self_attn.k_norm";
  /// Name of the one tensor whose rows are those of q, k and v, one behind the other; empty where
  /// each is a tensor of its own.
  std::string_view fused_qkv{};
  /// Name of the one tensor whose rows are those of gate and up; empty where each is its own.
  std::string_view fused_gate_up{};
  ExpertNames experts{};
  /// Name of the one tensor of a gated delta net that has each key head's rows of q, k, v and of
  /// the output's gate, one head behind the other; empty where q, k and v share a tensor and the
  /// gate has its own.
  std::string_view fused_delta{};
  /// Name of the one tensor that has each key head's learning rates and decays; empty where they
  /// are two tensors.
  std::string_view fused_delta_rates{};
  friend bool operator==(const BlockNames&, const BlockNames&) = default;
};

}  // namespace sluice::planner
