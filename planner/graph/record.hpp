// Activation record of one block and one micro-batch: which intermediates exist and where they lie.
// The planner sizes buffers from it and the engine binds kernels to it, so the two cannot disagree.
#pragma once

#include <cstdint>

#include "planner/machines/machine.hpp"
#include "planner/models/job.hpp"
#include "planner/plans/plan.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Byte offsets of a block's intermediates in its record, each a multiple of 256; elements
/// are of the compute type unless said. The tensors that a level keeps come first, so that
/// a level is a prefix: [x | q k v attention lse | residual gate up router]. The three parts begin
/// at the same places in all blocks of a model, which have room for every kind of layer; what lies
/// in the second depends on the kind. Where blocks have experts, gate and up
/// have a row for every route, that is for every one of a token's `active` experts, grouped by
/// expert, and [tokens, intermediate] is [tokens x active, an expert's intermediate].
struct BlockRecord {
  Bytes x;  ///< Offset of [tokens, hidden]: block input (residual stream).
  /// Offset of fp32 [experts], behind x and part of it: routes to each expert in the blocks before
  /// this one. Empty without a router_aux_loss_coef.
  Bytes counts;
  /// Offset of fp32 [experts], right behind the counts: sum over tokens of each expert's router
  /// probability, in the blocks before this one. Empty without a router_aux_loss_coef.
  Bytes probabilities;
  /// Offsets of [tokens, query_rank], [tokens, rank] and [tokens, rotated]: narrow projections of
  /// latent attention and the key that all heads share, as projected; their norms and RoPE are
  /// applied when they are read. Empty without latent attention.
  Bytes q_latent, kv_latent, shared_key;
  /// Offset of [tokens, heads * head_dim]: q projection; q-norm and RoPE are applied when it is
  /// read.
  Bytes q;
  /// Offset of [tokens, kv_heads * head_dim]: k projection; k-norm and RoPE are applied when it is
  /// read.
  Bytes k;
  /// Offset of [tokens, kv_heads * head_dim]: v projection. A gated delta net has q, k and v of its
  /// own widths, as projected: its convolution is applied when they are read. Latent attention has
  /// the elements of k that do not turn, [tokens, heads * plain], and v, [tokens, heads * value].
  Bytes v;
  /// Offset of fp32 [tokens, heads]: reciprocal RMS of the q-norm; present only where heads
  /// are normed; [tokens] where the norm is over all heads together.
  Bytes q_rstd;
  /// Offset of fp32 [tokens, kv_heads]: reciprocal RMS of the k-norm; likewise.
  Bytes k_rstd;
  /// Offset of [tokens, heads * head_dim]: projection whose sigmoid multiplies attention's output;
  /// empty without attention_gate. A gated delta net has the projection whose silu multiplies its
  /// normed output, [tokens, values].
  Bytes attention_gate;
  /// Offsets of [tokens, value_heads]: projections of which learning rates and decays are made;
  /// empty where the layer is no gated delta net.
  Bytes delta_beta, delta_decay;
  /// Offset of [tokens, heads * head_dim]: attention output before the o projection, or of
  /// [tokens, values]: output of the gated delta rule before its norm. States are computed again.
  Bytes attention;
  Bytes lse;  ///< Offset of fp32 [tokens, heads]: log-sum-exp of the scaled scores.
  /// Offset of [tokens, hidden]: output of the o projection before the norm behind it; empty
  /// without that norm. A level below Keep::all rebuilds it from `attention` by the product that
  /// made it, which the residual needs anyway.
  Bytes attention_output;
  /// Offset of [tokens, hidden]: residual stream after attention, which is x plus the o projection.
  Bytes residual;
  /// Offset of [tokens, intermediate]: gate before the activation, routes first and then an expert
  /// that all tokens pass through; empty for activations without a gate, and absent where the job
  /// computes its MLPs in chunks.
  Bytes gate;
  /// Offset of [tokens, intermediate]: up projection; absent where the job computes its MLPs in
  /// chunks.
  Bytes up;
  Bytes router;  ///< Offset of fp32 [tokens, experts]: the router's logits; empty for dense blocks.
  /// Offset of [tokens, hidden]: output of the MLP before the norm behind it; empty without that
  /// norm. A level below Keep::all rebuilds it by the down product, as does an MLP in chunks.
  Bytes mlp_output;
  /// Bytes of the part of a record that Keep::input keeps, from its start: x, counts and
  /// probabilities.
  Bytes input_bytes;
  /// Bytes of the part of a record that Keep::selective keeps, from its start: x to lse.
  Bytes selective_bytes;
  Bytes all_bytes;  ///< Bytes of a whole record, which Keep::all keeps.
  /// Bytes of a record that Keep::input_kv and Keep::attention keep; what these levels keep does
  /// not lie together at the record's start, and plans with them are only predicted.
  Bytes kv_bytes, attention_bytes;

  [[nodiscard]] Bytes kept(Keep keep) const {
    switch (keep) {
      case Keep::all:
        return all_bytes;
      case Keep::selective:
        return selective_bytes;
      case Keep::attention:
        return attention_bytes;
      case Keep::input_kv:
        return kv_bytes;
      case Keep::input:
        break;
    }
    return input_bytes;
  }
};

/// The record of layers of the kind with the index `kind`.
[[nodiscard]] BlockRecord block_record(const Job& job, std::size_t kind = 0);

/// Bytes that a sequence keeps for the tokens behind it at the layer `layer`: keys, then values, of
/// seq_len tokens, of the compute type; or of a gated delta net, in fp32, the last inputs of its
/// convolution [kDeltaTaps - 1, channels], then its state.
[[nodiscard]] Bytes kept_bytes(const Job& job, std::int64_t layer);

/// Bytes of the residual stream between two units for one micro-batch, rounded up to 256: [tokens,
/// hidden] of the compute type, then counts and probabilities of experts as in a record.
[[nodiscard]] Bytes stream_bytes(const Job& job);

/// Bytes of device scratch that suffice for any one compute task of `job`
/// (docs/design/workspace.md).
[[nodiscard]] Bytes workspace_bytes(const Job& job, DeviceKind device = DeviceKind::host);

}  // namespace sluice::planner
