#include "planner/scratch/cuda_workspace.hpp"

#include <algorithm>
#include <array>

#include "planner/models/unit_classes.hpp"
#include "planner/scratch/tiled_attention.hpp"

namespace sluice::planner {
namespace {

class WorkspaceOffsets {
 public:
  Bytes take(Bytes bytes) {
    const Bytes start = next_;
    next_ += Bytes((bytes.count() + 255) / 256 * 256);
    return start;
  }
  Bytes take_bf16(std::int64_t elements) { return take(Bytes(2 * elements)); }
  [[nodiscard]] Bytes end() const { return next_; }
  void rewind(Bytes to) { next_ = to; }

 private:
  Bytes next_{0};
};

CudaRouteWorkspace route_workspace(const Job& job, WorkspaceOffsets& offsets) {
  if (!job.model.experts) return {};
  const std::int64_t tokens = job.micro_tokens();
  const std::int64_t experts = job.model.experts->count;
  const std::int64_t routes = tokens * job.model.experts->active;
  const auto take_words = [&offsets](std::int64_t count) { return offsets.take(Bytes(4 * count)); };
  CudaRouteWorkspace space{};
  space.expert = take_words(routes);
  space.row = take_words(routes);
  space.token = take_words(routes);
  space.share = take_words(routes);
  space.d_share = take_words(routes);
  space.begin = take_words(experts + 1);
  space.tiles = take_words(2 * route_tiles(routes, experts));
  space.counts = take_words(kRouteChunks * experts);
  space.d_logits = offsets.take_bf16(tokens * router_row(experts));
  space.rows = offsets.take_bf16(routes * job.model.hidden);
  const bool shared = job.model.experts->shared_intermediate > 0;
  space.shared = offsets.take_bf16(shared ? tokens * job.model.hidden : 0);
  const bool switched = shared && job.model.experts->shared_gate;
  space.switch_share = take_words(switched ? tokens : 0);
  space.d_switch_share = take_words(switched ? tokens : 0);
  space.d_switch = offsets.take_bf16(switched ? tokens * router_row(1) : 0);
  return space;
}

/// One product of a block: x [tokens, in], result [tokens, out].
struct BlockProduct {
  std::int64_t tokens, in, out;
};
std::array<BlockProduct, 4> products_of(const Job& job, std::size_t kind) {
  const ModelShape shape = uniform_shape(job.model, kind);
  const std::int64_t query = shape.heads * shape.head_dim;
  const std::int64_t up = (has_gate(shape.activation) ? 2 : 1) * shape.intermediate;
  return {{{job.micro_tokens(), shape.hidden, query + 2 * shape.kv_heads * shape.head_dim},
           {job.micro_tokens(), query, shape.hidden},
           {job.mlp_tokens(), shape.hidden, up},
           {job.mlp_tokens(), shape.intermediate, shape.hidden}}};
}

/// Scratch of FP8 operands, for sizes that are whole blocks of elements that share a scale.
CudaFp8Workspace fp8_workspace(const Job& job, WorkspaceOffsets& offsets) {
  if (!is_fp8(job.compute)) return {};
  std::int64_t inputs = 0, results = 0;
  const auto add = [&](std::int64_t tokens, std::int64_t in, std::int64_t out) {
    inputs = std::max(inputs, tokens * in);
    results = std::max(results, tokens * out);
  };
  for (std::size_t kind = 0; kind < job.model.kinds.size(); ++kind) {
    for (const BlockProduct& each : products_of(job, kind)) add(each.tokens, each.in, each.out);
  }
  const auto take = [&](std::int64_t elements, Bytes& values, Bytes& scales) {
    values = offsets.take(Bytes(elements));
    scales = offsets.take(Bytes(4 * elements / kFp8Block));
  };
  CudaFp8Workspace space{};
  take(inputs, space.x, space.x_scales);
  take(results, space.d, space.d_scales);
  take(results, space.d_across, space.d_across_scales);
  return space;
}

/// Scratch of latent attention, of which gradients of projections lie from `heads` on.
CudaLatentWorkspace latent_workspace(const Job& job, Bytes heads, WorkspaceOffsets& offsets) {
  if (!job.model.latent) return {};
  const ModelShape& shape = job.model;
  const LatentAttention& latent = *shape.latent;
  const std::int64_t tokens = job.micro_tokens();
  const std::int64_t narrow = std::max(latent.rank, latent.query_rank.value_or(0));
  const std::int64_t query = shape.heads * shape.head_dim;
  CudaLatentWorkspace space{};
  space.normed = offsets.take_bf16(tokens * narrow);
  space.d_normed = offsets.take_bf16(tokens * narrow);
  space.rstd = offsets.take(Bytes(4 * tokens));
  space.output = offsets.take_bf16(latent.value == shape.head_dim ? 0 : tokens * query);
  WorkspaceOffsets gradients;
  gradients.rewind(heads);
  space.d_query = gradients.take_bf16(tokens * query);
  space.d_shared_key = gradients.take_bf16(tokens * latent.rotated);
  space.d_key_value = gradients.take_bf16(tokens * shape.heads * (latent.plain + latent.value));
  offsets.rewind(std::max(offsets.end(), gradients.end()));
  return space;
}

}  // namespace

AttentionShape attention_shape(const Job& job) {
  const ModelShape& shape = job.model;
  const auto window = shape.kinds.front().window;
  // Where sequences hold documents, a window is part of what each query's first key is.
  const bool documents = job.attention == AttentionSpan::document;
  const bool windowed = window && *window < job.seq_len && !documents;
  return {.sequences = job.micro_batch,
          .length = job.seq_len,
          .heads = shape.heads,
          .kv_heads = shape.kv_heads,
          .head_dim = shape.head_dim,
          .qkv_row = (shape.heads + 2 * shape.kv_heads) * shape.head_dim,
          .out_row = shape.heads * shape.head_dim,
          .window = windowed ? window : std::nullopt,
          .documents = documents,
          .scale = shape.scales.attention,
          .softcap = shape.scales.attention_softcap};
}

namespace {

/// Workspace of attention in the kind of layer where that is largest.
Bytes widest_attention(const Job& job) {
  if (job.model.kinds.size() == 1) return attention_scratch(attention_shape(job));
  Bytes most{0};
  for (const BlockClass& each : block_classes(job.model)) {
    const AttentionShape shape = attention_shape(uniform_job(job, each.unit));
    most = std::max(most, attention_scratch(shape));
  }
  return most;
}

}  // namespace

CudaWorkspace cuda_workspace(const Job& job) {
  const ModelShape& shape = job.model;
  const std::int64_t tokens = job.micro_tokens();
  const std::int64_t query = shape.heads * shape.head_dim;
  const std::int64_t qkv = query + 2 * shape.kv_heads * shape.head_dim;
  const std::int64_t chunk = std::min(job.loss_chunk, tokens);
  std::int64_t widest_mlp =
      shape.intermediate + (shape.experts ? shape.experts->shared_intermediate : 0);
  for (const LayerKind& kind : shape.kinds) {
    widest_mlp = std::max(widest_mlp, kind.dense_intermediate.value_or(0));
  }
  WorkspaceOffsets offsets;
  CudaWorkspace space{};
  space.normed = offsets.take_bf16(tokens * shape.hidden);
  space.d_normed = offsets.take_bf16(tokens * shape.hidden);
  space.rstd = offsets.take(Bytes(4 * tokens));
  const std::int64_t delta_widest = shape.delta_net ? delta_row(*shape.delta_net) : 0;
  const LatentAttention latent = shape.latent.value_or(LatentAttention{});
  const std::int64_t widest = std::max({qkv, 2 * widest_mlp, shape.hidden, delta_widest,
                                        latent.rank, latent.query_rank.value_or(0)});
  space.partials = offsets.take(Bytes(4 * std::min(kPartialSums, 64 * tokens) * widest));
  space.gemm = offsets.take(kGemmWorkspace);
  const bool changes_branches = shape.norms.after_attention || shape.norms.after_mlp ||
                                shape.scales.residual != 1 || shape.attention_gate || shape.latent;
  space.branch = offsets.take_bf16(changes_branches ? tokens * shape.hidden : 0);
  space.fp8 = fp8_workspace(job, offsets);
  const Bytes shared = offsets.end();
  const std::int64_t wide = job.mlp_tokens() * widest_mlp;
  space.gate_up = offsets.take_bf16(job.chunks_mlp() ? 2 * wide : 0);
  space.activation = offsets.take_bf16(wide);
  space.d_gate_up = offsets.take_bf16(2 * wide);
  space.routes = route_workspace(job, offsets);
  Bytes end = offsets.end();
  offsets.rewind(shared);
  space.rotated = offsets.take_bf16(tokens * qkv);
  space.latent = latent_workspace(job, space.rotated, offsets);
  space.d_qkv = offsets.take_bf16(tokens * qkv);
  space.d_attention = offsets.take_bf16(tokens * query);
  const bool documents = job.attention == AttentionSpan::document;
  space.starts = offsets.take(Bytes(documents ? 4 * tokens : 0));
  const bool windows = std::ranges::any_of(
      shape.kinds, [](const LayerKind& kind) { return kind.window.has_value(); });
  space.first_keys = offsets.take(Bytes(documents && windows ? 4 * tokens : 0));
  space.gated = offsets.take_bf16(shape.attention_gate ? tokens * query : 0);
  const bool whole = !job.sequence_chunk;
  space.attention = offsets.take(whole ? widest_attention(job) : Bytes(0));
  end = std::max(end, offsets.end());
  offsets.rewind(shared);
  space.delta = cuda_delta_space(job);
  space.delta_begin = offsets.take(space.delta.total);
  end = std::max(end, offsets.end());
  offsets.rewind(shared);
  space.logits = offsets.take(Bytes((whole ? 2 * chunk : 4) * shape.vocab));
  space.losses = offsets.take(Bytes(4 * tokens));
  end = std::max(end, offsets.end());
  offsets.rewind(shared);
  space.muon = muon_workspace(job, job.compute_element());
  space.muon_begin = offsets.take(space.muon.total);
  space.total = std::max(end, offsets.end());
  return space;
}

Bytes fp8_weight_bytes(const Job& job) {
  if (!is_fp8(job.compute)) return Bytes(0);
  const auto scales = [](std::int64_t outer, std::int64_t inner) {
    constexpr std::int64_t kMultiple = 4;  // Scales of a row of blocks (scale_stride).
    return fp8_weight_stride(4 * outer * ((inner + kMultiple - 1) / kMultiple * kMultiple));
  };
  std::int64_t most = 0;
  for (std::size_t kind = 0; kind < job.model.kinds.size(); ++kind) {
    std::int64_t sum = 0;
    for (const BlockProduct& each : products_of(job, kind)) {
      const std::int64_t rows = each.out / kFp8Block, cols = each.in / kFp8Block;
      sum += 2 * fp8_weight_stride(each.in * each.out) + scales(rows, cols) + scales(cols, rows);
    }
    most = std::max(most, sum);
  }
  return Bytes(most);
}

Bytes rope_table_bytes(const Job& job) {
  std::int64_t elements = 0;
  for (const RotaryTable& table : job.model.rotary) {
    elements += table.rotated.value_or(job.model.head_dim);
  }
  return Bytes(std::int64_t{2} * 4 * job.seq_len * elements / 2);
}

}  // namespace sluice::planner
