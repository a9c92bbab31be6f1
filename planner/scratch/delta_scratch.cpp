#include "planner/scratch/delta_scratch.hpp"

#include <algorithm>

#include "planner/scratch/tiled_attention.hpp"

namespace sluice::planner {
namespace {

/// Bytes of a part's arrays beyond which a micro-batch is computed in several parts: a constant, or
/// so many a token, with which long sequences keep a GPU busy.
constexpr std::int64_t kMostPartBytes = std::int64_t{5} << 28, kMostTokenBytes = 1 << 15;

class DeltaOffsets {
 public:
  Bytes take(std::int64_t bytes) {
    const Bytes start = next_;
    next_ += Bytes((bytes + 255) / 256 * 256);
    return start;
  }
  Bytes take_floats(std::int64_t elements) { return take(4 * elements); }
  Bytes take_bf16(std::int64_t elements) { return take(2 * elements); }
  [[nodiscard]] Bytes end() const { return next_; }

 private:
  Bytes next_{0};
};

}  // namespace

DeltaRuleSpace delta_rule_space(const DeltaNet& net, const DeltaPart& part, std::int64_t length) {
  const std::int64_t heads = part.key_heads * (net.value_heads / net.key_heads);
  const std::int64_t rows = part.sequences * length * heads;
  const std::int64_t states = part.sequences * delta_states(length) * heads;
  DeltaOffsets offsets;
  DeltaRuleSpace space{};
  space.sums = offsets.take_floats(rows);
  space.added = offsets.take_floats(rows * net.value_dim);
  space.erased = offsets.take_floats(rows * net.key_dim);
  space.attention = offsets.take_floats(rows * kDeltaChunk);
  space.system = offsets.take_floats(rows * kDeltaChunk);
  space.d_added = offsets.take_floats(rows * std::max(net.key_dim, net.value_dim));
  space.states = offsets.take_floats(states * net.key_dim * net.value_dim);
  space.d_states = offsets.take_floats(states * net.key_dim * net.value_dim);
  space.total = offsets.end();
  return space;
}

DeltaPart delta_part(const DeltaNet& net, std::int64_t sequences, std::int64_t length) {
  DeltaPart part{sequences, net.key_heads};
  const Bytes most(std::max(kMostPartBytes, kMostTokenBytes * sequences * length));
  while (delta_rule_space(net, part, length).total > most) {
    if (part.sequences > 1) {
      part.sequences = next_divisor(sequences, part.sequences);
    } else if (part.key_heads > 1) {
      part.key_heads = next_divisor(net.key_heads, part.key_heads);
    } else {
      break;
    }
  }
  return part;
}

CudaDeltaSpace cuda_delta_space(const Job& job) {
  CudaDeltaSpace space{};
  if (!job.model.delta_net) return space;
  const DeltaNet& net = *job.model.delta_net;
  const std::int64_t tokens = job.micro_tokens();
  DeltaOffsets offsets;
  space.mixed = offsets.take_bf16(tokens * net.channels());
  space.d_mixed = offsets.take_bf16(tokens * net.channels());
  space.d_rows = offsets.take_bf16(tokens * delta_row(net));
  space.output = offsets.take_bf16(tokens * net.values());
  space.d_output = offsets.take_bf16(tokens * net.values());
  space.lengths = offsets.take_floats(tokens * 2 * net.key_heads);
  for (Bytes* each : {&space.decay, &space.beta, &space.d_decay, &space.d_beta}) {
    *each = offsets.take_floats(tokens * net.value_heads);
  }
  space.starts =
      offsets.take_floats(job.attention == AttentionSpan::document ? tokens : std::int64_t{0});
  space.rule = offsets.end();
  if (!job.sequence_chunk) {
    const DeltaPart part = delta_part(net, job.micro_batch, job.seq_len);
    offsets.take(delta_rule_space(net, part, job.seq_len).total.count());
  }
  space.total = offsets.end();
  return space;
}

}  // namespace sluice::planner
