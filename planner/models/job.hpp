// A job: everything that may change the bits of a step. A plan chooses only what may not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "planner/models/shape.hpp"

namespace sluice::planner {

enum class ComputeType { fp32, bf16 };
enum class GradientWire { fp32, bf16 };
/// What the optimizer keeps of a parameter. Only fp32 is executed; the others are predicted.
enum class StateType {
  fp32,  ///< fp32 master, m and v: 12 bytes, and fp32 gradients.
  bf16,  ///< bf16 weights updated in place, bf16 m, v and gradients: 6 bytes, and 2.
  int8,  ///< fp32 master; m and v in 8 bits with an fp32 scale for every 256 (arXiv 2110.02861).
};

/// How far attention reaches back from a token, and where positions start.
enum class AttentionSpan {
  sequence,  ///< To the sequence's first token.
  document,  ///< To the first token of its document: a sequence may hold several.
};

struct AdamWSettings {
  double lr = 1e-4;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
  std::optional<double> clip = 1.0;  ///< Global norm; none turns the norm barrier off.
  StateType state = StateType::fp32;
  friend bool operator==(const AdamWSettings&, const AdamWSettings&) = default;
};

/// So many tokens fill any GPU, and more than an MLP's tensors are worth keeping of.
inline constexpr std::int64_t kMlpChunk = std::int64_t{1} << 16;

struct Job {
  ModelShape model;
  std::int64_t seq_len = 0;        ///< Tokens of one sequence.
  std::int64_t batch_size = 0;     ///< Sequences a step.
  std::int64_t micro_batch = 1;    ///< Sequences a micro-batch; divides batch_size.
  std::int64_t loss_chunk = 1024;  ///< Tokens whose logits exist at one time.
  /// Tokens that pass an MLP at one time. In micro-batches of more, nothing of an MLP is kept: its
  /// backward pass computes each chunk's again.
  std::int64_t mlp_chunk = kMlpChunk;
  ComputeType compute = ComputeType::bf16;
  GradientWire gradient_wire = GradientWire::fp32;
  AdamWSettings optimizer;
  AttentionSpan attention = AttentionSpan::sequence;
  /// Weight of the loss that evens out how many tokens each expert gets (docs/design/moe.md); none:
  /// it is not computed.
  std::optional<double> router_aux_loss_coef;
  /// Tokens of a sequence that pass a layer at one time, where sequences are split (only
  /// predicted): a micro-batch is then one such chunk, which attends to the keys of those before
  /// it.
  std::optional<std::int64_t> sequence_chunk;

  [[nodiscard]] std::int64_t tokens() const { return seq_len * batch_size; }  ///< A step.
  [[nodiscard]] std::int64_t micro_tokens() const {
    return sequence_chunk.value_or(seq_len * micro_batch);
  }
  /// Whether a micro-batch passes an MLP in more than one chunk.
  [[nodiscard]] bool chunks_mlp() const { return !model.experts && mlp_chunk < micro_tokens(); }
  /// Most tokens of a micro-batch that are in an MLP at one time.
  [[nodiscard]] std::int64_t mlp_tokens() const {
    return chunks_mlp() ? mlp_chunk : micro_tokens();
  }
  /// What a route to an expert adds to the gradient of each of its probabilities in a micro-batch
  /// of `tokens` (docs/design/moe.md); 0 where nothing balances experts.
  [[nodiscard]] float balance_weight(std::int64_t tokens) const;
  /// What the sum over experts of routes times summed probabilities adds to the loss of a
  /// micro-batch of `tokens`; 0 where nothing balances experts.
  [[nodiscard]] double balance_scale(std::int64_t tokens) const;
  [[nodiscard]] std::int64_t micro_batches() const { return tokens() / micro_tokens(); }
  /// Micro-batches that one sequence is split into.
  [[nodiscard]] std::int64_t chunks_per_sequence() const {
    return sequence_chunk ? seq_len / *sequence_chunk : 1;
  }
  [[nodiscard]] Bytes compute_element() const {
    return Bytes(compute == ComputeType::bf16 ? 2 : 4);
  }
  /// Bytes a parameter takes on the h2d link: the high halves, or both halves for fp32 compute.
  [[nodiscard]] Bytes weight_element() const { return compute_element(); }
  /// Bytes of an element of the running sum of gradients.
  [[nodiscard]] Bytes gradient_element() const {
    return Bytes(optimizer.state == StateType::bf16 ? 2 : 4);
  }
  [[nodiscard]] Bytes gradient_wire_element() const {
    return gradient_wire == GradientWire::bf16 ? Bytes(2) : gradient_element();
  }
  /// Bytes of the weights that the optimizer updates.
  [[nodiscard]] Bytes master_bytes(std::int64_t parameters) const {
    return Bytes((optimizer.state == StateType::bf16 ? 2 : 4) * parameters);
  }
  /// Bytes of m, or of v.
  [[nodiscard]] Bytes moment_bytes(std::int64_t parameters) const;
  /// Bytes an update reads and writes: master, m and v both ways, the gradient once.
  [[nodiscard]] Bytes update_bytes(std::int64_t parameters) const {
    return (master_bytes(parameters) + moment_bytes(parameters) * 2) * 2 +
           gradient_element() * parameters;
  }
  /// Whether the engine can execute it; otherwise it is predicted only.
  [[nodiscard]] bool executable() const;
};

const char* to_string(StateType type);

/// Throws BadRequest naming the first thing that this version predicts and does not execute.
void require_executable(const Job& job);

/// Throws BadRequest naming the field: non-positive sizes, micro_batch not dividing batch_size, ...
void validate(const Job& job);

/// Hash of what a plan depends on and what fixes a step's bits: shape, sizes, compute, wire,
/// optimizer without lr (lr, seed, data and the number of steps vary between runs of one plan).
[[nodiscard]] std::string job_hash(const Job& job);

}  // namespace sluice::planner
