// Models of a few thousand parameters, and one training step of them through the host templates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/host/templates.hpp"
#include "planner/models/job.hpp"
#include "planner/plans/plan.hpp"

namespace sluice::engine::testing {

/// Values of each unit's parameters, padding included, by unit.
using UnitVectors = std::vector<std::vector<float>>;

struct TinyModel {
  planner::Job job;
  UnitVectors weights;
  std::vector<std::int32_t> tokens;  ///< [batch_size, seq_len]
  /// Target tokens [batch_size, seq_len]; one of them is negative, which is ignored.
  std::vector<std::int32_t> targets;
};

/// Names of the tiny models: "llama", "llama_tied", "mistral", "qwen2", "qwen2_tied", "qwen3", and
/// with three of five experts active "qwen3_moe" (shares over all experts), "mixtral",
/// "mixtral_balanced" (router_aux_loss_coef); "bounded", "normed_after", "scaled", "with_sinks",
/// "grouped", "switched" and "gated" have the parts of the block descriptor that those lack. Each
/// has two layers, grouped heads, head_dim other than hidden / heads, and 2 sequences of 6 tokens
/// in micro-batches of 1.
[[nodiscard]] std::vector<std::string> tiny_model_names();
[[nodiscard]] TinyModel tiny_model(const std::string& name);
/// Tiny model with weights, tokens and targets drawn at random for `job`.
[[nodiscard]] TinyModel tiny_model(const planner::Job& job);

struct StepResult {
  double loss = 0;  ///< Mean over all tokens.
  double loss_only = 0;
  double balance_loss = 0;  ///< Mean over micro-batches; 0 without a router_aux_loss_coef.
  /// Gradients of all units; a tied head's are included in the embedding's.
  UnitVectors gradients;
  std::vector<float> logits;  ///< Logits [T, vocab] of the first micro-batch.
  bool guards_intact = true;
};

/// Runs forward, loss, recompute and backward of every micro-batch, in a poisoned workspace of
/// exactly workspace_bytes and records of exactly the kept and recomputed sizes.
[[nodiscard]] StepResult run_step(const TinyModel& model, planner::Keep keep);

/// Relative error |a - b| / |b| of two vectors of n elements, by their 2-norms.
[[nodiscard]] double relative_error(const float* a, const double* b, std::int64_t n);

}  // namespace sluice::engine::testing
