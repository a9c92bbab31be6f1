// Models of a few thousand parameters, and one training step of them through the host templates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/host/templates.hpp"
#include "planner/models/job.hpp"
#include "planner/plans/plan.hpp"

namespace sluice::engine::testing {

/// One vector a unit, padding included.
using UnitVectors = std::vector<std::vector<float>>;

struct TinyModel {
  planner::Job job;
  UnitVectors weights;
  std::vector<std::int32_t> tokens;   ///< [batch_size, seq_len]
  std::vector<std::int32_t> targets;  ///< The same; one is ignored.
};

/// "llama", "llama_tied", "mistral", "qwen2", "qwen2_tied", "qwen3", and with three of five experts
/// "qwen3_moe" (shares of all), "mixtral", "mixtral_balanced" (router_aux_loss_coef): two layers,
/// grouped heads, head_dim other than hidden / heads, 2 sequences of 6 tokens in micro-batches
/// of 1.
[[nodiscard]] std::vector<std::string> tiny_model_names();
[[nodiscard]] TinyModel tiny_model(const std::string& name);
/// Draws weights, tokens and targets anew for a changed job.
[[nodiscard]] TinyModel tiny_model(const planner::Job& job);

struct StepResult {
  double loss = 0;  ///< Mean over all tokens.
  double loss_only = 0;
  double balance_loss = 0;  ///< Mean over micro-batches; with a router_aux_loss_coef.
  UnitVectors gradients;    ///< Tied head combined.
  bool guards_intact = true;
};

/// Forward, loss, recompute, backward of every micro-batch, in a poisoned workspace of exactly
/// workspace_bytes and records of exactly the kept and recomputed sizes.
[[nodiscard]] StepResult run_step(const TinyModel& model, planner::Keep keep);

/// |a - b| / |b| over elements [begin, end).
[[nodiscard]] double relative_error(const float* a, const double* b, std::int64_t n);

}  // namespace sluice::engine::testing
