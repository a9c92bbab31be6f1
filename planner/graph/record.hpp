// Activation record of one block and one micro-batch: which intermediates exist and where they lie.
// The planner sizes buffers from it and the engine binds kernels to it, so the two cannot disagree.
#pragma once

#include <cstdint>

#include "planner/machines/machine.hpp"
#include "planner/models/job.hpp"
#include "planner/plans/plan.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Byte offsets of a block's intermediates; T = micro_tokens, elements are of the compute type
/// unless said. Every offset is a multiple of 256. Kept tensors of a level come first, so that a
/// level is a prefix: [x | q k v attention lse | residual gate up router]. Where blocks have
/// experts, gate and up have a row for every route, that is for every one of a token's `active`
/// experts, grouped by expert, and [T, intermediate] is [T * active, an expert's intermediate].
struct BlockRecord {
  Bytes x;  ///< [T, hidden] block input (residual stream).
  /// fp32 [experts] each, behind x as part of it: routes to each expert in the blocks before this
  /// one, and the sum of its probabilities there. Only with a router_aux_loss_coef.
  Bytes counts;
  Bytes probabilities;  ///< Right behind the counts.
  Bytes q;            ///< [T, heads * head_dim] q projection; q-norm and RoPE apply as it is read.
  Bytes k;            ///< [T, kv_heads * head_dim] k projection; the same.
  Bytes v;            ///< [T, kv_heads * head_dim]
  Bytes q_rstd;       ///< fp32 [T, heads] reciprocal RMS of the q-norm; present only with qk_norm.
  Bytes k_rstd;       ///< fp32 [T, kv_heads]
  Bytes attention;    ///< [T, heads * head_dim] attention output before the o projection.
  Bytes lse;          ///< fp32 [T, heads] log-sum-exp of the scaled scores.
  Bytes residual;     ///< [T, hidden] x + o projection.
  Bytes gate;         ///< [T, intermediate] before SiLU; absent where a job chunks its MLPs.
  Bytes up;           ///< [T, intermediate]; likewise.
  Bytes router;       ///< fp32 [T, experts] the router's logits.
  Bytes input_bytes;  ///< Prefix kept at Keep::input: x, counts and probabilities.
  Bytes selective_bytes;  ///< Prefix kept at Keep::selective: x .. lse.
  Bytes all_bytes;        ///< Whole record.
  /// What the levels that are only predicted hold; no prefix of the record.
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

[[nodiscard]] BlockRecord block_record(const Job& job);

/// Bytes of the residual stream of one micro-batch, [T, hidden] of the compute type and what the
/// record counts behind x, rounded up to 256.
[[nodiscard]] Bytes stream_bytes(const Job& job);

/// Device scratch that one compute task may use, whatever its kind: sized by the engine's templates
/// (fp32 operands of one matrix product, chunk logits, attention tiles); docs/design/workspace.md.
[[nodiscard]] Bytes workspace_bytes(const Job& job, DeviceKind device = DeviceKind::host);

}  // namespace sluice::planner
