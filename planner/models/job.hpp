// A job: everything that may change the bits of a step. A plan chooses only what may not.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "planner/kernels/kernel_work.hpp"
#include "planner/models/shape.hpp"

namespace sluice::planner {

/// Arithmetic of a step's passes.
enum class ComputeType {
  fp32,
  bf16,
  /// As bf16, but for the matrix products of blocks between the first and the last, whose operands
  /// are rounded to block-scaled E4M3 (docs/design/fp8.md).
  fp8,
  /// As fp8, but each operand has one scale, and gradients of results are rounded to E5M2: for GPUs
  /// without block-scaled products.
  fp8_tensorwise,
};
inline constexpr std::initializer_list<ComputeType> kComputeTypes = {
    ComputeType::fp32, ComputeType::bf16, ComputeType::fp8, ComputeType::fp8_tensorwise};
/// Whether products of blocks have FP8 operands.
[[nodiscard]] constexpr bool is_fp8(ComputeType type) {
  return type == ComputeType::fp8 || type == ComputeType::fp8_tensorwise;
}
enum class GradientWire { fp32, bf16 };
const char* to_string(ComputeType type);
const char* to_string(GradientWire wire);
/// Types of what the optimizer keeps of a parameter (docs/design/small-state.md).
enum class StateType {
  fp32,  ///< fp32 master weights, m and v (12 bytes a parameter), and fp32 gradients.
  bf16,  ///< As fp32, but m and v are rounded stochastically to bf16 (8 bytes a parameter).
  /// As fp32, but m and v have 8 bits, with an fp32 scale for every kMomentBlock
  /// (arXiv 2110.02861).
  int8,
  /// bf16 weights updated in place, bf16 m and v (6 bytes a parameter), and bf16 gradients.
  /// Predicted only.
  bf16_weights,
};
/// Number of neighbouring elements of m, or of v, that share a scale in int8 state.
inline constexpr std::int64_t kMomentBlock = 256;

/// What updates a block's weight matrices; everything else is AdamW's (docs/muon.md).
enum class OptimizerKind { adamw, muon };
/// Factor of the learning rate for a matrix, by the names of torch.optim.Muon's adjust_lr_fn.
enum class MuonRate {
  original,         ///< sqrt(max(1, rows / columns)).
  match_rms_adamw,  ///< 0.2 sqrt(max(rows, columns)): updates as large as AdamW's usually are.
};
const char* to_string(OptimizerKind kind);
const char* to_string(MuonRate rate);

/// Settings of Muon, by the names of torch.optim.Muon.
struct MuonSettings {
  double momentum = 0.95;
  bool nesterov = true;
  std::int64_t ns_steps = 5;  ///< Number of Newton-Schulz iterations.
  MuonRate adjust_lr_fn = MuonRate::match_rms_adamw;
  friend bool operator==(const MuonSettings&, const MuonSettings&) = default;
};

/// How a pass's operators become kernels.
enum class Operators {
  fused,  ///< Passes run this engine's kernels, many of which do several operators at once.
  /// One kernel an operator, launched from Python, as PyTorch runs a layer that was not compiled
  /// (planner/costs/eager_work.cpp). Predicted only.
  eager,
};

/// How far back a token's attention reaches, and where positions start at 0.
enum class AttentionSpan {
  sequence,  ///< Attention reaches the first token of the sequence.
  /// Attention reaches the first token of the document; a sequence may hold several documents.
  document,
};

struct AdamWSettings {
  double lr = 1e-4;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
  /// Largest global gradient norm; none turns clipping off, and with it the wait for the norm.
  std::optional<double> clip = 1.0;
  StateType state = StateType::fp32;
  OptimizerKind kind = OptimizerKind::adamw;
  MuonSettings muon;  ///< Has an effect where `kind` is muon, whose learning rate is `lr` too.
  friend bool operator==(const AdamWSettings&, const AdamWSettings&) = default;
};

/// Number of neighbouring elements of an FP8 operand that share a scale, and side of a block of a
/// weight that does.
inline constexpr std::int64_t kFp8Block = 128;

/// Default of Job::mlp_chunk. So many tokens fill any GPU; with more, keeping an MLP's tensors does
/// not pay.
inline constexpr std::int64_t kMlpChunk = std::int64_t{1} << 16;

struct Job {
  ModelShape model;
  std::int64_t seq_len = 0;        ///< Tokens of one sequence.
  std::int64_t batch_size = 0;     ///< Sequences of one step.
  std::int64_t micro_batch = 1;    ///< Sequences of one micro-batch; divides batch_size.
  std::int64_t loss_chunk = 1024;  ///< Tokens whose logits are in memory at one time.
  /// Tokens that pass an MLP at one time. A micro-batch with more keeps nothing of an MLP: the
  /// backward pass recomputes it chunk by chunk.
  std::int64_t mlp_chunk = kMlpChunk;
  ComputeType compute = ComputeType::bf16;
  GradientWire gradient_wire = GradientWire::fp32;
  AdamWSettings optimizer;
  AttentionSpan attention = AttentionSpan::sequence;
  /// Coefficient of the loss that balances how many tokens each expert gets (docs/design/moe.md);
  /// none: that loss is not computed.
  std::optional<double> router_aux_loss_coef;
  /// Number of groups of consecutive micro-batches. Gradients are added up within each group, in
  /// order, and the groups' sums along a fixed tree (planner/models/group_tree.hpp): 1 to
  /// micro_batches().
  std::int64_t groups = 1;
  /// Tokens of a sequence that pass a layer at one time, for a job that splits sequences (predicted
  /// only). A micro-batch is then one such chunk, which attends to the keys of the chunks before
  /// it.
  std::optional<std::int64_t> sequence_chunk;
  Operators operators = Operators::fused;
  /// Library of the attention kernels. A job that is only predicted is timed with FlashAttention
  /// where this says cudnn.
  AttentionLibrary attention_library = AttentionLibrary::cudnn;

  /// Tokens of one step.
  [[nodiscard]] std::int64_t tokens() const { return seq_len * batch_size; }
  [[nodiscard]] std::int64_t micro_tokens() const {
    return sequence_chunk.value_or(seq_len * micro_batch);
  }
  /// Whether a micro-batch passes an MLP in more than one chunk.
  [[nodiscard]] bool chunks_mlp() const {
    return !model.experts && operators == Operators::fused && mlp_chunk < micro_tokens();
  }
  /// Largest number of tokens of a micro-batch that are in an MLP at one time.
  [[nodiscard]] std::int64_t mlp_tokens() const {
    return chunks_mlp() ? mlp_chunk : micro_tokens();
  }
  /// What a micro-batch of `tokens` adds, for each route to an expert, to the gradient of every
  /// token's router probability of that expert (docs/design/moe.md); 0 without a balancing loss.
  [[nodiscard]] float balance_weight(std::int64_t tokens) const;
  /// Factor of the balancing loss of a micro-batch of `tokens`: the loss is this times the sum over
  /// experts of routes times summed probabilities. 0 without a balancing loss.
  [[nodiscard]] double balance_scale(std::int64_t tokens) const;
  [[nodiscard]] std::int64_t micro_batches() const { return tokens() / micro_tokens(); }
  /// Number of micro-batches that one sequence is split into; 1 where sequences are not split.
  [[nodiscard]] std::int64_t chunks_per_sequence() const {
    return sequence_chunk ? seq_len / *sequence_chunk : 1;
  }
  [[nodiscard]] Bytes compute_element() const {
    return Bytes(compute == ComputeType::fp32 ? 4 : 2);
  }
  /// Whether the products of block `layer`, counted from 0, have FP8 operands.
  [[nodiscard]] bool computes_in_fp8(std::int64_t layer) const {
    return is_fp8(compute) && layer > 0 && layer + 1 < model.layers;
  }
  /// Share of the model's blocks whose products have FP8 operands.
  [[nodiscard]] double fp8_share() const;
  /// Bytes of a parameter on the h2d link: its high half, or both halves for fp32 compute.
  [[nodiscard]] Bytes weight_element() const { return compute_element(); }
  /// Bytes of an element of the running sum of gradients.
  [[nodiscard]] Bytes gradient_element() const {
    return Bytes(optimizer.state == StateType::bf16_weights ? 2 : 4);
  }
  [[nodiscard]] Bytes gradient_wire_element() const {
    return gradient_wire == GradientWire::bf16 ? Bytes(2) : gradient_element();
  }
  /// Bytes of `parameters` master weights.
  [[nodiscard]] Bytes master_bytes(std::int64_t parameters) const {
    return Bytes((optimizer.state == StateType::bf16_weights ? 2 : 4) * parameters);
  }
  /// Bytes of m, which are also those of v, for `parameters` parameters.
  [[nodiscard]] Bytes moment_bytes(std::int64_t parameters) const;
  /// Bytes that an update reads and writes: master, m and v in both directions, the gradient once.
  [[nodiscard]] Bytes update_bytes(std::int64_t parameters) const {
    return (master_bytes(parameters) + moment_bytes(parameters) * 2) * 2 +
           gradient_element() * parameters;
  }
  /// Whether the engine can execute the job; otherwise it is only predicted.
  [[nodiscard]] bool executable() const;
};

const char* to_string(StateType type);
const char* to_string(Operators operators);

/// Throws BadRequest naming the first thing that this version predicts and does not execute.
void require_executable(const Job& job);

/// Throws BadRequest naming the first wrong field: a size that is not positive, a micro_batch that
/// does not divide batch_size, ...
void validate(const Job& job);

/// Hash of what a plan depends on and what fixes a step's bits: all of the job but the learning
/// rate, mlp_chunk only where it splits a micro-batch, and groups only where there are several.
/// Runs of one plan may differ in lr, seed, data and number of steps.
[[nodiscard]] std::string job_hash(const Job& job);

}  // namespace sluice::planner
