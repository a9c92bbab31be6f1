#include "planner/graph/record.hpp"

#include <algorithm>

#include "planner/models/muon.hpp"
#include "planner/scratch/cuda_workspace.hpp"
#include "planner/scratch/workspace.hpp"

namespace sluice::planner {
namespace {

constexpr std::int64_t kAlign = 256;

/// Allocates consecutive ranges of a record, each a multiple of 256 bytes.
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

RouteWorkspace route_workspace(const Job& job, RecordOffsets& offsets) {
  const ModelShape& shape = job.model;
  const std::int64_t tokens = job.micro_tokens();
  const std::int64_t routes = shape.experts ? tokens * shape.experts->active : 0;
  RouteWorkspace space{};
  space.mixed = offsets.take_floats(shape.experts ? tokens * shape.hidden : 0);
  space.expert = offsets.take_floats(routes);
  space.row = offsets.take_floats(routes);
  space.token = offsets.take_floats(routes);
  space.share = offsets.take_floats(routes);
  space.d_share = offsets.take_floats(routes);
  space.begin = offsets.take_floats(shape.experts ? shape.experts->count + 1 : 0);
  space.end = offsets.end();
  return space;
}

/// Widths of the intermediates of a block's feed-forward network, of one of its experts where it
/// has any, and of the router.
struct FeedForwardWidths {
  std::int64_t intermediate, router;
};

FeedForwardWidths feed_forward_widths(const ModelShape& shape) {
  FeedForwardWidths widths{shape.intermediate, 0};
  if (shape.experts) {
    widths = {std::max(shape.experts->intermediate, shape.experts->shared_intermediate),
              shape.experts->count};
  }
  for (const LayerKind& kind : shape.kinds) {
    widths.intermediate = std::max(widths.intermediate, kind.dense_intermediate.value_or(0));
  }
  return widths;
}

/// Whether a sublayer's output is more than added to the residual stream.
bool changes_branches(const ModelShape& shape) {
  return shape.norms.after_attention || shape.norms.after_mlp || shape.scales.residual != 1;
}

/// Largest width of a block's MLP, which is that of a token's active experts together where blocks
/// have any, and of an expert that all tokens pass through.
std::int64_t widest_mlp(const ModelShape& shape) {
  std::int64_t widest =
      shape.intermediate + (shape.experts ? shape.experts->shared_intermediate : 0);
  for (const LayerKind& kind : shape.kinds) {
    widest = std::max(widest, kind.dense_intermediate.value_or(0));
  }
  return widest;
}

/// Largest widths of the tensors of blocks' mixers of tokens, over all kinds of layers.
struct MixerWidths {
  std::int64_t query = 0, key = 0, value = 0, output = 0;
  std::int64_t gate = 0;   ///< Width of a projection that multiplies the output; 0 for none.
  std::int64_t rates = 0;  ///< Value heads of a gated delta net.
  /// Narrow projections of latent attention, and the key that its heads share.
  std::int64_t query_latent = 0, key_latent = 0, shared_key = 0;
};

MixerWidths latent_widths(const ModelShape& shape) {
  const LatentAttention& latent = *shape.latent;
  return {.query = shape.heads * shape.head_dim,
          .key = shape.heads * latent.plain,
          .value = shape.heads * latent.value,
          .output = shape.heads * latent.value,
          .query_latent = latent.query_rank.value_or(0),
          .key_latent = latent.rank,
          .shared_key = latent.rotated};
}

MixerWidths mixer_widths(const ModelShape& shape, const LayerKind& kind) {
  if (is_linear(kind)) {
    const DeltaNet& net = *shape.delta_net;
    return {.query = net.keys(),
            .key = net.keys(),
            .value = net.values(),
            .output = net.values(),
            .gate = net.values(),
            .rates = net.value_heads};
  }
  const std::int64_t dim = kind.head_dim.value_or(shape.head_dim);
  const std::int64_t query = shape.heads * dim, key = kind.kv_heads.value_or(shape.kv_heads) * dim;
  if (shape.latent) return latent_widths(shape);
  return {.query = query,
          .key = key,
          .value = kind.values_are_keys ? 0 : key,
          .output = query,
          .gate = shape.attention_gate ? query : 0};
}

MixerWidths widest_mixer(const ModelShape& shape) {
  MixerWidths widest;
  for (const LayerKind& kind : shape.kinds) {
    const MixerWidths widths = mixer_widths(shape, kind);
    widest = {.query = std::max(widest.query, widths.query),
              .key = std::max(widest.key, widths.key),
              .value = std::max(widest.value, widths.value),
              .output = std::max(widest.output, widths.output),
              .gate = std::max(widest.gate, widths.gate),
              .rates = std::max(widest.rates, widths.rates),
              .query_latent = std::max(widest.query_latent, widths.query_latent),
              .key_latent = std::max(widest.key_latent, widths.key_latent),
              .shared_key = std::max(widest.shared_key, widths.shared_key)};
  }
  return widest;
}

/// Lays out what a record has between the block's input and the residual stream.
void lay_mixer(BlockRecord& record, RecordOffsets& offsets, const Job& job, const LayerKind& kind) {
  const ModelShape& shape = job.model;
  const std::int64_t element = job.compute_element().count();
  const std::int64_t tokens = job.micro_tokens();
  const MixerWidths widths = mixer_widths(shape, kind);
  record.q_latent = offsets.take(tokens * widths.query_latent * element);
  record.kv_latent = offsets.take(tokens * widths.key_latent * element);
  record.shared_key = offsets.take(tokens * widths.shared_key * element);
  record.q = offsets.take(tokens * widths.query * element);
  record.k = offsets.take(tokens * widths.key * element);
  record.v = offsets.take(tokens * widths.value * element);
  const bool whole = shape.head_norm == HeadNorm::full_width;
  const bool attends = !is_linear(kind);
  const std::int64_t normed = attends && shape.head_norm != HeadNorm::none ? tokens : 0;
  record.q_rstd = offsets.take_floats(normed * (whole ? 1 : shape.heads));
  record.k_rstd = offsets.take_floats(normed * (whole ? 1 : shape.kv_heads));
  record.attention_gate = offsets.take(tokens * widths.gate * element);
  record.delta_beta = offsets.take(tokens * widths.rates * element);
  record.delta_decay = offsets.take(tokens * widths.rates * element);
  record.attention = offsets.take(tokens * widths.output * element);
  record.lse = offsets.take_floats(attends ? tokens * shape.heads : 0);
}

DeltaWorkspace delta_workspace(const Job& job, RecordOffsets& offsets) {
  DeltaWorkspace space{};
  if (!job.model.delta_net) return space;
  const DeltaNet& net = *job.model.delta_net;
  const std::int64_t channels = job.seq_len * net.channels();
  const std::int64_t heads = job.seq_len * net.value_heads;
  space.bounds = offsets.take(8 * (job.seq_len + 1));
  space.conv = offsets.take_floats(net.channels() * kDeltaTaps);
  space.rate = offsets.take_floats(net.value_heads);
  space.bias = offsets.take_floats(net.value_heads);
  space.inputs = offsets.take_floats(channels);
  space.mixed = offsets.take_floats(channels);
  space.d_mixed = offsets.take_floats(channels);
  space.beta = offsets.take_floats(heads);
  space.decay = offsets.take_floats(heads);
  space.rates = offsets.take_floats(heads);
  space.decays = offsets.take_floats(heads);
  space.rule = offsets.take_floats(std::max(delta_rule_floats(net, job.seq_len), net.channels()));
  return space;
}

LatentWorkspace latent_workspace(const Job& job, std::int64_t tile, RecordOffsets& offsets) {
  LatentWorkspace space{};
  if (!job.model.latent) return space;
  const std::int64_t queries = job.model.latent->query_rank.value_or(0);
  const std::int64_t keys = job.model.latent->rank;
  const std::int64_t widest = tile * std::max(queries, keys);
  space.input = offsets.take_floats(widest);
  space.normed = offsets.take_floats(widest);
  space.d_normed = offsets.take_floats(widest);
  space.rstd = offsets.take_floats(tile);
  space.d_query = offsets.take_floats(tile * queries);
  space.d_key = offsets.take_floats(tile * keys);
  return space;
}

}  // namespace

BlockRecord block_record(const Job& job, std::size_t kind) {
  const ModelShape& shape = job.model;
  const std::int64_t element = job.compute_element().count();
  const std::int64_t tokens = job.micro_tokens();
  RecordOffsets offsets;
  BlockRecord record{};
  const std::int64_t experts = shape.experts ? shape.experts->count : 0;
  const std::int64_t stream = tokens * shape.hidden * element;
  record.x = offsets.take(stream + (job.router_aux_loss_coef ? 8 * experts : 0));
  record.counts = record.x + Bytes(stream);
  record.probabilities = record.counts + Bytes(4 * experts);
  record.input_bytes = offsets.end();
  lay_mixer(record, offsets, job, shape.kinds.at(kind));
  const Bytes own = offsets.end();
  Bytes widest = own;
  for (const LayerKind& other : shape.kinds) {
    offsets.rewind(record.input_bytes);
    BlockRecord unused{};
    lay_mixer(unused, offsets, job, other);
    widest = std::max(widest, offsets.end());
  }
  offsets.rewind(widest);
  record.selective_bytes = offsets.end();
  record.attention_output =
      offsets.take(shape.norms.after_attention ? tokens * shape.hidden * element : 0);
  record.residual = offsets.take(tokens * shape.hidden * element);
  const std::int64_t expanded = job.chunks_mlp() ? 0 : tokens * widest_mlp(shape);
  record.gate = offsets.take(has_gate(shape.activation) ? expanded * element : 0);
  record.up = offsets.take(expanded * element);
  record.router = offsets.take_floats(tokens * experts);
  record.mlp_output = offsets.take(shape.norms.after_mlp ? tokens * shape.hidden * element : 0);
  record.all_bytes = offsets.end();
  record.kv_bytes = record.input_bytes + (record.q_rstd - record.k);
  record.attention_bytes = record.kv_bytes + (own - record.attention);
  return record;
}

Bytes kept_bytes(const Job& job, std::int64_t layer) {
  const ModelShape& shape = job.model;
  if (is_linear(layer_kind(shape, layer))) {
    const DeltaNet& net = *shape.delta_net;
    return Bytes(4 * ((kDeltaTaps - 1) * net.channels() + net.state()));
  }
  if (const auto& latent = shape.latent) {
    const std::int64_t head = shape.head_dim + latent->value;
    return job.compute_element() * (job.seq_len * shape.heads * head);
  }
  const ModelShape uniform = uniform_shape(shape, kind_index(shape, layer));
  return job.compute_element() * (2 * job.seq_len * uniform.kv_heads * uniform.head_dim);
}

Bytes stream_bytes(const Job& job) { return block_record(job).input_bytes; }

std::int64_t delta_chunk_floats(const DeltaNet& net) {
  const std::int64_t n = kDeltaChunk;
  return 4 * n * net.key_dim + 5 * n * net.value_dim + 8 * n + 7 * n * n +
         n * std::max(net.key_dim, net.value_dim);
}

std::int64_t delta_rule_floats(const DeltaNet& net, std::int64_t longest) {
  const std::int64_t chunks = (longest + kDeltaChunk - 1) / kDeltaChunk;
  return delta_chunk_floats(net) + (chunks + 2) * net.key_dim * net.value_dim +
         2 * kDeltaChunk * net.value_dim;
}

std::int64_t panel_rows(std::int64_t rows, std::int64_t cols) {
  const std::int64_t fitting = std::max<std::int64_t>(16, kWeightPanel / cols / 16 * 16);
  return std::min(rows, fitting);
}

BlockWorkspace block_workspace(const Job& job) {
  const ModelShape& shape = job.model;
  const std::int64_t copies = job.compute != ComputeType::fp32 || shape.experts ? 1 : 0;
  const auto [intermediate, router] = feed_forward_widths(shape);
  const std::int64_t tokens = job.micro_tokens();
  const std::int64_t tile = std::min(tokens, kTokenTile);
  const std::int64_t expanded = job.chunks_mlp() ? std::min(job.mlp_chunk, tile) : 0;
  const std::int64_t queries = std::min(job.seq_len, kQueryTile);
  const MixerWidths mixer = widest_mixer(shape);
  const auto panel = [](std::int64_t rows, std::int64_t cols) {
    return panel_rows(rows, cols) * cols;
  };
  // A narrow projection may have more columns than the model has, or less.
  const auto latent_panel = [&](const MixerWidths& widths) {
    if (widths.key_latent == 0) return std::int64_t{0};
    const std::int64_t queries = std::max<std::int64_t>(widths.query_latent, 1);
    return std::max({panel(widths.query, queries), panel(widths.query_latent, shape.hidden),
                     panel(widths.key_latent, shape.hidden), panel(widths.key, widths.key_latent),
                     panel(widths.shared_key, shape.hidden),
                     panel(widths.value, widths.key_latent)});
  };
  RecordOffsets offsets;
  BlockWorkspace space{};
  space.panel = offsets.take_floats(
      std::max({panel(mixer.query, shape.hidden), panel(mixer.key, shape.hidden),
                latent_panel(mixer), panel(mixer.value, shape.hidden),
                panel(shape.hidden, mixer.output), panel(intermediate, shape.hidden),
                panel(shape.hidden, intermediate), router == 0 ? 0 : panel(router, shape.hidden)}));
  space.vector =
      offsets.take_floats(std::max({shape.hidden, mixer.query, mixer.output, intermediate,
                                    mixer.query_latent, mixer.key_latent}));
  const Bytes from = offsets.end();
  space.routes = route_workspace(job, offsets);
  offsets.rewind(from);
  space.d_query = offsets.take_floats(tokens * mixer.query);
  // Keys of latent attention have their gradients whole, then without what heads share.
  space.d_key = offsets.take_floats(tokens * (shape.latent ? mixer.query : mixer.key));
  space.d_value = offsets.take_floats(tokens * mixer.value);
  space.d_attention_gate = offsets.take_floats(tokens * mixer.gate);
  space.d_linear = offsets.take_floats(shape.delta_net ? tokens * shape.delta_net->values()
                                       : shape.latent  ? tokens * mixer.output
                                                       : 0);
  space.d_shared_key = offsets.take_floats(tokens * mixer.shared_key);
  space.d_beta = offsets.take_floats(tokens * mixer.rates);
  space.d_decay = offsets.take_floats(tokens * mixer.rates);
  const Bytes shared = std::max(offsets.end(), space.routes.end);
  offsets.rewind(shared);
  space.rstd = offsets.take_floats(tile);
  const std::int64_t operands = mixer.gate > 0 ? 1 : copies;
  space.input = offsets.take_floats(operands * tile * std::max(shape.hidden, mixer.output));
  space.incoming = offsets.take_floats(copies * tile * shape.hidden);
  space.branch = offsets.take_floats(changes_branches(shape) ? tile * shape.hidden : 0);
  space.normed = offsets.take_floats(tile * shape.hidden);
  space.d_normed = offsets.take_floats(tile * shape.hidden);
  space.wide =
      offsets.take_floats(tile * std::max({intermediate, router, mixer.query, mixer.value,
                                           shape.hidden, mixer.query_latent, mixer.key_latent}));
  space.d_wide = offsets.take_floats(tile * std::max(intermediate, router));
  const std::int64_t quantized = is_fp8(job.compute) ? tile : 0;
  const std::int64_t widest = std::max(
      {intermediate, mixer.query, mixer.value, shape.hidden, mixer.query_latent, mixer.key_latent});
  space.quantized = offsets.take_floats(quantized * widest);
  space.quantized_gradient = offsets.take_floats(quantized * widest);
  space.gate = offsets.take(expanded * intermediate * job.compute_element().count());
  space.up = offsets.take(expanded * intermediate * job.compute_element().count());
  space.latent = latent_workspace(job, tile, offsets);
  const Bytes tiles_end = offsets.end();
  offsets.rewind(shared);
  space.keys = offsets.take_floats(job.seq_len * shape.head_dim);
  const std::int64_t value_dim = shape.latent ? shape.latent->value : shape.head_dim;
  space.values = offsets.take_floats(job.seq_len * value_dim);
  space.query = offsets.take_floats(queries * shape.head_dim);
  space.output = offsets.take_floats(queries * value_dim);
  space.scores = offsets.take_floats(queries * job.seq_len);
  space.d_scores = offsets.take_floats(queries * job.seq_len);
  const Bytes attention_end = offsets.end();
  offsets.rewind(shared);
  space.delta = delta_workspace(job, offsets);
  space.total = std::max({tiles_end, attention_end, offsets.end()});
  return space;
}

HeadWorkspace head_workspace(const Job& job) {
  const ModelShape& shape = job.model;
  const std::int64_t copies = job.compute != ComputeType::fp32 ? 1 : 0;
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
  if (job.operators == Operators::eager) {
    // Autograd keeps the log-softmax of every chunk of logits until the loss's backward pass.
    Job fused = job;
    fused.operators = Operators::fused;
    return workspace_bytes(fused, device) +
           job.compute_element() * (job.micro_tokens() * job.model.vocab);
  }
  if (device == DeviceKind::cuda) return cuda_workspace(job).total;
  return std::max({block_workspace(job).total, head_workspace(job).total,
                   muon_workspace(job, kHostMuonElement).total});
}

}  // namespace sluice::planner
