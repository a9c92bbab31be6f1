// Layer templates of the host backend: the computation of one unit, bound to raw memory. A template
// holds sizes and RoPE tables but never weights or activations, so any slot can be streamed into
// it. No call allocates. docs/design/host-templates.md has the equations and the rounding points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/host/rope.hpp"
#include "engine/host/unit_slots.hpp"
#include "planner/graph/record.hpp"
#include "planner/models/job.hpp"
#include "planner/plans/plan.hpp"
#include "planner/scratch/workspace.hpp"
#include "sim/units.hpp"

namespace sluice::engine {

/// Addresses of a unit's weights on the device: two halves, each uint16 [padded], the unit's
/// parameters with padding. `low` is null for bf16 compute, which computes with the high halves
/// alone.
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
  /// Number of the block, from 0, which decides the kind of its layer.
  std::int64_t layer = 0;
  /// Input tokens, int32 [T], negative where a document begins; null if each sequence is one
  /// document. Attention and positions start again at each document.
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

/// What one sequence keeps at one block, and the tokens that a call adds to it.
struct KeptKeys {
  /// Rotated keys, then values: [seq_len, kv_heads * head_dim] of the compute type each; or what a
  /// gated delta net keeps (planner::kept_bytes).
  std::byte* data;
  std::int64_t first;  ///< Number of tokens whose keys are kept already.
  std::int64_t count;  ///< Number of tokens in this call, at least one.
};

/// Arguments of the head for one micro-batch: final norm, lm_head, cross-entropy, and their
/// backward.
struct LossArguments {
  Weights head;                 ///< Head unit: final norm, and lm_head unless tied.
  Weights embed;                ///< Embed unit; read only with a tied head.
  const std::byte* input;       ///< Residual stream, [T, hidden] of the compute type.
  const std::int32_t* targets;  ///< Target tokens [T]; negative ones are ignored.
  float scale;                  ///< Weight of one token in the loss: 1 / tokens of the step.
  float* gradient;              ///< Gradient of the head unit, fp32.
  float* tied_gradient;         ///< Gradient of the embed unit, fp32; tied heads only.
  bool first;                   ///< Whether gradients are overwritten instead of added to.
  /// Output: gradient of the residual stream, [T, hidden] of the compute type.
  std::byte* stream_gradient;
};

/// Arithmetic of the layers of one kind: their shape, places of their tensors and of their
/// record's, and rotary tables.
struct LayerTemplate {
  planner::ModelShape shape;  ///< The model whose layers are all of this kind.
  BlockSlots slots;
  planner::BlockRecord record;
  const RopeTableValues* rotary;  ///< Cosines and sines; null where the layer has no positions.
  std::int64_t pairs;             ///< Number of pairs of a head's elements that turn.
};

/// All computations of one job, with its planned precision, sizes and RoPE tables. T is
/// job.micro_tokens(): `micro_batch` sequences of `seq_len` tokens. May be shared between threads;
/// every call runs on the calling thread.
class HostTemplates {
 public:
  /// Sets up the templates, and OpenBLAS (engine/host/blas.hpp).
  explicit HostTemplates(const planner::Job& job);

  HostTemplates(const HostTemplates&) = delete;  // Kinds of layers point to tables.
  HostTemplates& operator=(const HostTemplates&) = delete;

  /// output [T, hidden] = the embedding's row for each token, times the model's factor. `tokens`
  /// [T] are below the vocabulary's size; ~t stands for token t at the beginning of a document.
  void embed_forward(Weights weights, const std::int32_t* tokens, std::byte* output) const {
    embed_forward(weights, tokens, job_.micro_tokens(), output);
  }
  /// embed_forward for the first `count` tokens.
  void embed_forward(Weights weights, const std::int32_t* tokens, std::int64_t count,
                     std::byte* output) const;

  /// Forward pass of a block: reads record.x; writes the record's other tensors and next_input [T,
  /// hidden]. With a router_aux_loss_coef the residual stream carries, behind its tokens, each
  /// expert's number of routes and summed router probability over all tokens and the blocks so far:
  /// embed_forward writes zeros, block_forward adds, and the gradient carries the number of routes
  /// back.
  void block_forward(Weights weights, RecordView record, std::byte* next_input,
                     Workspace workspace) const;
  /// Forward pass of a block for `count` tokens that continue a sequence whose keys are kept: adds
  /// their keys and values, and writes `count` rows of next_input.
  void block_extend(Weights weights, RecordView record, const KeptKeys& kept, std::byte* next_input,
                    Workspace workspace) const;
  /// First part of block_extend for a mixture of experts, up to the router: `begins`, int32
  /// [experts + 1], receives the number of routes to the experts before each, then that of all
  /// routes.
  void block_route(Weights weights, RecordView record, const KeptKeys& kept, std::int32_t* begins,
                   Workspace workspace) const;
  /// Second part of block_extend for a mixture of experts: computes `count` tokens, reading only
  /// those experts that tokens are routed to.
  void block_experts(Weights weights, RecordView record, std::int64_t count, std::byte* next_input,
                     Workspace workspace) const;
  /// Recomputes, bit for bit, those tensors of the record that block_forward wrote and that keep
  /// level `from` does not keep.
  void block_recompute(Weights weights, RecordView record, planner::Keep from,
                       Workspace workspace) const;
  /// Backward pass of a block. Reads the whole record; turns stream_gradient [T, hidden] from the
  /// gradient of the block's output into that of its input, and adds the weights' gradients to
  /// `gradient` (fp32 [padded]; overwritten, with padding zeroed, if `first`).
  void block_backward(Weights weights, float* gradient, bool first, RecordView record,
                      std::byte* stream_gradient, Workspace workspace) const;

  /// Summed (not scaled) cross-entropy of the micro-batch; writes the gradients and the
  /// stream_gradient that `arguments` names.
  [[nodiscard]] double loss(const LossArguments& arguments, Workspace workspace) const;
  /// Load-balancing loss of a micro-batch's experts times its coefficient: c E sum over experts e
  /// of F_e P_e, with coefficient c, E experts and, over all tokens and blocks, the mean number of
  /// routes to e, F_e, and e's mean probability, P_e (docs/design/moe.md). Reads the sums that
  /// blocks left behind the residual stream in the head's `input` (BlockRecord::counts,
  /// probabilities). Needs a router_aux_loss_coef.
  [[nodiscard]] double balance_loss(const std::byte* input) const;
  /// The value that `loss` returns, bit for bit, without gradients: reads only head, embed, input
  /// and targets.
  [[nodiscard]] double loss_only(const LossArguments& arguments, Workspace workspace) const;

  /// Logits [count, vocab], fp32, of `count` <= min(loss_chunk, T) tokens of the residual stream.
  void logits(Weights head, Weights embed, const std::byte* input, std::int64_t count,
              float* logits, Workspace workspace) const;

  /// gradient[tokens[i]] += row i of stream_gradient, [T, hidden], times the model's factor, in the
  /// order of i. If `first`, the gradient is zeroed before.
  void embed_backward(const std::int32_t* tokens, const std::byte* stream_gradient, float* gradient,
                      bool first) const;

 private:
  [[nodiscard]] const LayerTemplate& layer(std::int64_t number) const {
    return kinds_[planner::kind_index(job_.model, number)];
  }

  planner::Job job_;
  planner::BlockRecord record_;
  planner::BlockWorkspace block_space_;
  planner::HeadWorkspace head_space_;
  EndSlots ends_;
  std::vector<RopeTableValues> tables_;  ///< Rotary tables, as the model numbers them.
  std::vector<LayerTemplate> kinds_;     ///< Kinds of layers, as the model numbers them.
  float embedding_factor_;               ///< Factor of the embedding's rows.

  friend class BlockRun;
  friend class HeadRun;
};

/// Number of gradient elements whose squares are added to one partial sum of the gradient norm.
inline constexpr std::int64_t kNormBlock = 4096;
[[nodiscard]] constexpr std::int64_t norm_block_count(std::int64_t elements) {
  return (elements + kNormBlock - 1) / kNormBlock;
}

/// gradient[i] += addend[i].
void combine(float* gradient, const float* addend, std::int64_t elements);
/// blocks[b] = sum of squares, in double, of elements b * kNormBlock .. (b + 1) * kNormBlock - 1.
void norm_blocks(const float* gradient, std::int64_t elements, double* blocks);
/// wire[i] = gradient[i] rounded to the nearest bf16, ties to even. `wire` may start where
/// `gradient` starts.
void round_gradient(const float* gradient, std::int64_t elements, std::uint16_t* wire);

}  // namespace sluice::engine
