// Slots of the policy ml_dataflow: which blocks, gradients and records lie on the device and on the
// host, as the public bench of als244/ml_dataflow decides it.
//
// Sizes in bytes, bf16; c = tokens of a chunk, d, kv, f, V = widths of model, keys, feed forward
// and vocabulary, S = sequence length, n = chunks of a round:
//   block     2 (2 d d + 2 d kv + 3 d f + 2 d): its weights; as many of gradient
//   record    2 c (4 d + 2 kv + 2 f): x, q, k, v, attention, o, gate, up
//   sticky    workspace + context 8 max(c, S) kv + embedding and head with state 8 (2 V + 1) d
//             + transitions 4 n c d + logits 2 c V + head 2 c (d + V) + 4 c + recomputed 4 c d
//             + gradients of a record + scratch 2 c (d + f)
//   workspace 0.4 GiB + 4 c d + 2 S d
// What is left over sticky holds as many whole layers (block, its gradient, n records) as fit, then
// one more block, then records; at least one block, one gradient and two records. The host holds
// weights, gradients, m and v of blocks, and the other records: each at the least level first, then
// as many as fit with the attention output, then whole. Source:
// bench/reproduce_results/transformer_record_throughput.c of als244/ml_dataflow; the workspace is
// fitted to the device memory that its tables report (experiments/throughput).
#pragma once

#include <cstdint>
#include <vector>

#include "planner/models/job.hpp"
#include "planner/plans/plan.hpp"

namespace sluice::planner {

/// Numbers of device slots of the policy ml_dataflow by what they hold, and numbers of records that
/// it keeps on the host.
struct MlDataflowSlots {
  std::int64_t blocks = 1, gradients = 1, records = 2;
  /// Number of records on the host by how much of them is kept: the block's input, that with the
  /// attention output, all of it.
  std::int64_t input = 0, attention = 0, full = 0;
  /// Number of records on the host.
  [[nodiscard]] std::int64_t home() const { return input + attention + full; }
};

/// Bytes of one block's weights, of one record (whole, at `least` only the input,
/// `with_attention`), and of what is always on the device (`sticky`) and on the host (`host`), as
/// ml_dataflow counts them.
struct MlDataflowSizes {
  double block, record, least, with_attention, sticky, host;
  std::int64_t layers, chunks;

  MlDataflowSizes(const Job& job, std::int64_t chunks_a_round);
  /// Bytes of device memory that a plan with these slots takes.
  [[nodiscard]] double device(const MlDataflowSlots& slots) const {
    return sticky + static_cast<double>(slots.blocks + slots.gradients) * block +
           static_cast<double>(slots.records) * record;
  }
  /// Bytes of host memory that a plan with these records on the host takes.
  [[nodiscard]] double home(const MlDataflowSlots& slots) const {
    return host + static_cast<double>(slots.input) * least +
           static_cast<double>(slots.attention) * with_attention +
           static_cast<double>(slots.full) * record;
  }
};

/// The numbers of device slots that fit into `device` bytes of device memory by the bench's rule.
[[nodiscard]] MlDataflowSlots device_slots(const MlDataflowSizes& sizes, double device);
/// Sets how much is kept of each of the records without a device slot, which are kept on the host,
/// so that `host` bytes of host memory hold as much of them as possible.
void level_records(MlDataflowSlots& slots, const MlDataflowSizes& sizes, double host);
/// How much of each record on the host is kept, by layer, then chunk of the sequences.
[[nodiscard]] std::vector<Keep> levels_of(const MlDataflowSlots& slots,
                                          const MlDataflowSizes& sizes);
/// Number of chunks (micro-batches) of a round by the bench's rule: those of as many whole
/// sequences as make the records of one block about as large as its weights.
[[nodiscard]] std::int64_t usual_chunks(const Job& job);

}  // namespace sluice::planner
