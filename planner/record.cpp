#include "planner/record.hpp"

#include <algorithm>

#include "planner/cuda_workspace.hpp"
#include "planner/workspace.hpp"

namespace sluice::planner {
namespace {

constexpr std::int64_t kAlign = 256;

/// Hands out consecutive ranges, each a multiple of 256 bytes.
class RecordOffsets {
 public:
  Bytes take(std::int64_t bytes) {
    const Bytes start = next_;
    next_ += Bytes((bytes + kAlign - 1) / kAlign * kAlign);
    return start;
  }
  Bytes take_floats(std::int64_t elements) { return take(4 * elements); }
  [[nodiscard]] Bytes end() const { return next_; }
  void rewind(Bytes to) { next_ = to; }

 private:
  Bytes next_{0};
};

}  // namespace

BlockRecord block_record(const Job& job) {
  const ModelShape& shape = job.model;
  const std::int64_t element = job.compute_element().count();
  const std::int64_t tokens = job.micro_tokens();
  const std::int64_t query = shape.heads * shape.head_dim;
  const std::int64_t key = shape.kv_heads * shape.head_dim;
  RecordOffsets offsets;
  BlockRecord record{};
  record.x = offsets.take(tokens * shape.hidden * element);
  record.input_bytes = offsets.end();
  record.q = offsets.take(tokens * query * element);
  record.k = offsets.take(tokens * key * element);
  record.v = offsets.take(tokens * key * element);
  record.q_rstd = offsets.take_floats(shape.qk_norm ? tokens * shape.heads : 0);
  record.k_rstd = offsets.take_floats(shape.qk_norm ? tokens * shape.kv_heads : 0);
  record.attention = offsets.take(tokens * query * element);
  record.lse = offsets.take_floats(tokens * shape.heads);
  record.selective_bytes = offsets.end();
  record.residual = offsets.take(tokens * shape.hidden * element);
  record.gate = offsets.take(tokens * shape.intermediate * element);
  record.up = offsets.take(tokens * shape.intermediate * element);
  record.all_bytes = offsets.end();
  record.kv_bytes = record.input_bytes + (record.q_rstd - record.k);
  record.attention_bytes = record.kv_bytes + (record.selective_bytes - record.attention);
  return record;
}

Bytes stream_bytes(const Job& job) { return block_record(job).input_bytes; }

std::int64_t panel_rows(std::int64_t rows, std::int64_t cols) {
  const std::int64_t fitting = std::max<std::int64_t>(16, kWeightPanel / cols / 16 * 16);
  return std::min(rows, fitting);
}

BlockWorkspace block_workspace(const Job& job) {
  const ModelShape& shape = job.model;
  const std::int64_t copies = job.compute == ComputeType::bf16 ? 1 : 0;
  const std::int64_t tokens = job.micro_tokens();
  const std::int64_t tile = std::min(tokens, kTokenTile);
  const std::int64_t queries = std::min(job.seq_len, kQueryTile);
  const std::int64_t query = shape.heads * shape.head_dim;
  const std::int64_t key = shape.kv_heads * shape.head_dim;
  const auto panel = [](std::int64_t rows, std::int64_t cols) {
    return panel_rows(rows, cols) * cols;
  };
  RecordOffsets offsets;
  BlockWorkspace space{};
  space.panel = offsets.take_floats(
      std::max({panel(query, shape.hidden), panel(key, shape.hidden), panel(shape.hidden, query),
                panel(shape.intermediate, shape.hidden), panel(shape.hidden, shape.intermediate)}));
  space.vector = offsets.take_floats(std::max({shape.hidden, query, shape.intermediate}));
  space.d_query = offsets.take_floats(tokens * query);
  space.d_key = offsets.take_floats(tokens * key);
  space.d_value = offsets.take_floats(tokens * key);
  const Bytes shared = offsets.end();
  space.rstd = offsets.take_floats(tile);
  space.input = offsets.take_floats(copies * tile * std::max(shape.hidden, query));
  space.incoming = offsets.take_floats(copies * tile * shape.hidden);
  space.normed = offsets.take_floats(tile * shape.hidden);
  space.d_normed = offsets.take_floats(tile * shape.hidden);
  space.wide = offsets.take_floats(tile * std::max({shape.intermediate, query, shape.hidden}));
  space.d_wide = offsets.take_floats(tile * shape.intermediate);
  const Bytes tiles_end = offsets.end();
  offsets.rewind(shared);
  space.keys = offsets.take_floats(job.seq_len * shape.head_dim);
  space.values = offsets.take_floats(job.seq_len * shape.head_dim);
  space.query = offsets.take_floats(queries * shape.head_dim);
  space.output = offsets.take_floats(queries * shape.head_dim);
  space.scores = offsets.take_floats(queries * job.seq_len);
  space.d_scores = offsets.take_floats(queries * job.seq_len);
  space.total = std::max(tiles_end, offsets.end());
  return space;
}

HeadWorkspace head_workspace(const Job& job) {
  const ModelShape& shape = job.model;
  const std::int64_t copies = job.compute == ComputeType::bf16 ? 1 : 0;
  const std::int64_t chunk = std::min(job.loss_chunk, job.micro_tokens());
  RecordOffsets offsets;
  HeadWorkspace space{};
  space.panel = offsets.take_floats(panel_rows(shape.vocab, shape.hidden) * shape.hidden);
  space.vector = offsets.take_floats(shape.hidden);
  space.rstd = offsets.take_floats(chunk);
  space.input = offsets.take_floats(copies * chunk * shape.hidden);
  space.normed = offsets.take_floats(chunk * shape.hidden);
  space.d_normed = offsets.take_floats(chunk * shape.hidden);
  space.logits = offsets.take_floats(chunk * shape.vocab);
  space.total = offsets.end();
  return space;
}

Bytes workspace_bytes(const Job& job, DeviceKind device) {
  if (device == DeviceKind::cuda) return cuda_workspace(job).total;
  return std::max(block_workspace(job).total, head_workspace(job).total);
}

}  // namespace sluice::planner
