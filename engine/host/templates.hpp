// The layer templates of the host backend: one unit's computation bound to raw memory. A template
// holds sizes and RoPE tables, never weights or activations, so any slot can be streamed into it.
// No call allocates. docs/design/host-templates.md has the equations and the rounding points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/host/unit_slots.hpp"
#include "planner/graph/record.hpp"
#include "planner/models/job.hpp"
#include "planner/plans/plan.hpp"
#include "planner/scratch/workspace.hpp"
#include "sim/units.hpp"

namespace sluice::engine {

/// A unit's planes on the device, each uint16 [padded]. `low` is null for bf16 compute, which
/// computes with the high halves alone.
struct Weights {
  const std::uint16_t* high = nullptr;
  const std::uint16_t* low = nullptr;
};

/// An activation record whose first `kept` bytes lie at `record` and the rest at `full`:
/// offset o is record + o for o < kept, else full + (o - kept). The block's input x (offset 0) lies
/// at `input` instead where that is set: an offloaded record's input stays in a stream buffer, and
/// `record` may be null if nothing but x is kept.
struct RecordView {
  std::byte* record = nullptr;
  std::byte* full = nullptr;
  Bytes kept{0};
  std::byte* input = nullptr;
  /// [T] inputs, negative where a document begins, or null where a sequence is one document:
  /// attention and positions start anew there.
  const std::int32_t* documents = nullptr;
  [[nodiscard]] std::byte* at(Bytes offset) const {
    if (input != nullptr && offset == Bytes(0)) return input;
    return offset < kept ? record + offset.count() : full + (offset - kept).count();
  }
};

/// Scratch of one compute task: at least planner::workspace_bytes(job), 64-byte aligned. Its
/// contents before a call do not matter and are undefined afterwards.
struct Workspace {
  std::byte* data = nullptr;
  Bytes bytes{0};
};

/// Keys and values of one sequence at one block, and the tokens that a call adds to them.
struct KeptKeys {
  std::byte*
      data;  ///< Rotated keys, then values: [seq_len, kv_heads * head_dim] of the compute type.
  std::int64_t first;  ///< Tokens whose keys are kept.
  std::int64_t count;  ///< Tokens of the call, at least one.
};

/// One micro-batch at the head: final norm, lm_head, cross-entropy, and their backward.
struct LossArguments {
  Weights head;                 ///< Final norm, and lm_head unless tied.
  Weights embed;                ///< The embed unit; read only with a tied head.
  const std::byte* input;       ///< [T, hidden] of the compute type: the residual stream.
  const std::int32_t* targets;  ///< [T]; a negative target is ignored.
  float scale;                  ///< Weight of one token in the loss: 1 / tokens of the step.
  float* gradient;              ///< Head unit's fp32 vector.
  float* tied_gradient;         ///< fp32, laid out as the embed unit's vector; tied heads only.
  bool first;                   ///< Gradients are overwritten, not added to.
  std::byte* stream_gradient;   ///< Out: [T, hidden] of the compute type.
};

/// The planned precision, sizes and RoPE tables of one job, and its computations. T is
/// job.micro_tokens(): `micro_batch` sequences of `seq_len` tokens. Safe to share between threads;
/// every call runs on the calling thread.
class HostTemplates {
 public:
  /// Prepares OpenBLAS (engine/host/blas.hpp).
  explicit HostTemplates(const planner::Job& job);

  /// output [T, hidden] = rows of the embedding. `tokens` [T] are below the vocabulary's size; ~t
  /// stands for the t that begins a document.
  void embed_forward(Weights weights, const std::int32_t* tokens, std::byte* output) const {
    embed_forward(weights, tokens, job_.micro_tokens(), output);
  }
  /// The first `count` rows of it.
  void embed_forward(Weights weights, const std::int32_t* tokens, std::int64_t count,
                     std::byte* output) const;

  /// With a router_aux_loss_coef the residual stream carries, behind its tokens, the routes of the
  /// blocks so far and the router's probabilities, summed over tokens: embed_forward writes zeros,
  /// block_forward adds, and the gradient's way back carries the sum of the routes. Reads record.x;
  /// writes the record's other tensors and next_input [T, hidden].
  void block_forward(Weights weights, RecordView record, std::byte* next_input,
                     Workspace workspace) const;
  /// block_forward of the `count` tokens of one sequence that follow those whose keys are kept:
  /// adds their keys and values, and writes `count` rows of next_input.
  void block_extend(Weights weights, RecordView record, const KeptKeys& kept, std::byte* next_input,
                    Workspace workspace) const;
  /// block_extend up to its router, of a mixture of experts: `begins`, int32 [experts + 1], are the
  /// routes to the experts before each, and their number.
  void block_route(Weights weights, RecordView record, const KeptKeys& kept, std::int32_t* begins,
                   Workspace workspace) const;
  /// The rest of it, of `count` tokens; reads those experts alone that tokens go to.
  void block_experts(Weights weights, RecordView record, std::int64_t count, std::byte* next_input,
                     Workspace workspace) const;
  /// Rebuilds, bit for bit, what block_forward wrote beyond the prefix that `from` keeps.
  void block_recompute(Weights weights, RecordView record, planner::Keep from,
                       Workspace workspace) const;
  /// Reads the whole record; turns stream_gradient [T, hidden] from the gradient of the block's
  /// output into that of its input, and adds the weights' gradients to `gradient` (fp32 [padded];
  /// overwritten, padding zeroed, if `first`).
  void block_backward(Weights weights, float* gradient, bool first, RecordView record,
                      std::byte* stream_gradient, Workspace workspace) const;

  /// Summed (not scaled) cross-entropy of the micro-batch; writes gradients and stream_gradient.
  [[nodiscard]] double loss(const LossArguments& arguments, Workspace workspace) const;
  /// The loss that balances the experts of a micro-batch, times its coefficient, from the head's
  /// input: c E sum over experts of F P (docs/design/moe.md). Needs a router_aux_loss_coef.
  [[nodiscard]] double balance_loss(const std::byte* input) const;
  /// The same sum as `loss`, bit for bit, without gradients: only head, embed, input and targets
  /// are read.
  [[nodiscard]] double loss_only(const LossArguments& arguments, Workspace workspace) const;

  /// logits [count, vocab], fp32, of `count` <= min(loss_chunk, T) tokens of the residual stream.
  void logits(Weights head, Weights embed, const std::byte* input, std::int64_t count,
              float* logits, Workspace workspace) const;

  /// gradient[token] += stream_gradient row, in token position order (for each row of the
  /// embedding the same order as sorted by token, stably). If `first`, the rest becomes zero.
  void embed_backward(const std::int32_t* tokens, const std::byte* stream_gradient, float* gradient,
                      bool first) const;

 private:
  planner::Job job_;
  planner::BlockRecord record_;
  planner::BlockWorkspace block_space_;
  planner::HeadWorkspace head_space_;
  BlockSlots slots_;
  EndSlots ends_;
  std::vector<float> cos_, sin_;  ///< [seq_len, head_dim / 2]

  friend class BlockRun;
  friend class HeadRun;
};

/// Elements of one block of the gradient norm.
inline constexpr std::int64_t kNormBlock = 4096;
[[nodiscard]] constexpr std::int64_t norm_block_count(std::int64_t elements) {
  return (elements + kNormBlock - 1) / kNormBlock;
}

/// gradient[i] += addend[i].
void combine(float* gradient, const float* addend, std::int64_t elements);
/// blocks[b] = sum of squares, in double, of elements b * kNormBlock ...
void norm_blocks(const float* gradient, std::int64_t elements, double* blocks);
/// wire[i] = bf16 of gradient[i], to nearest even. `wire` may start where `gradient` starts.
void round_gradient(const float* gradient, std::int64_t elements, std::uint16_t* wire);

}  // namespace sluice::engine
