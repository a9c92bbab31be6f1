// What the passes of a micro-batch compute, read and write (planner/kernels/kernel_work.cpp: FLOPs
// of each part):
//   experts: as many as tokens go to (expected_experts), each with its equal share; on a CUDA
//   device a product of all of them is one kernel
//   an MLP in chunks                        the products of each chunk; backward computes gate and
//                                           up again, and a weight gradient is read and written
//                                           once for each chunk
//   element-wise kernels                    bytes read + bytes written, each operand once
// Backward of a weight product is two products: d input [m, n] x [n, k], d weight [n, m] x [m, k].
#include <algorithm>

#include "planner/costs/cost.hpp"
#include "planner/costs/delta_work.hpp"
#include "planner/costs/eager_work.hpp"
#include "planner/costs/fp8_work.hpp"
#include "planner/costs/latent_work.hpp"
#include "planner/costs/rotary_work.hpp"
#include "planner/models/muon.hpp"
#include "planner/models/support.hpp"
#include "planner/models/unit_classes.hpp"
#include "planner/scratch/cuda_workspace.hpp"
#include "planner/scratch/tiled_attention.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// Width of what the o projection multiplies.
std::int64_t output_width(const ModelShape& shape) {
  if (is_linear(shape.kinds.front())) return shape.delta_net->values();
  return shape.heads * (shape.latent ? shape.latent->value : shape.head_dim);
}

/// Products that make q, k and v of `tokens` tokens, and a gate of attention's output.
std::vector<Gemm> attention_projections(const ModelShape& shape, std::int64_t tokens) {
  if (shape.latent) return latent_projections(shape, tokens);
  const std::int64_t query = shape.heads * shape.head_dim, key = shape.kv_heads * shape.head_dim;
  return {{tokens, query, shape.hidden, shape.attention_gate ? 2 : 1},
          {tokens, key, shape.hidden, shape.kinds.front().values_are_keys ? 1 : 2}};
}

/// Sizes of one block and one micro-batch.
struct MicroBatchSizes {
  std::int64_t tokens, hidden;
  std::int64_t query;  ///< Width of the o projection's input.
  std::int64_t key_value, intermediate, element;
  explicit MicroBatchSizes(const Job& job)
      : tokens(job.micro_tokens()),
        hidden(job.model.hidden),
        query(output_width(job.model)),
        key_value(job.model.kv_heads * job.model.head_dim),
        intermediate(job.model.intermediate),
        element(job.compute_element().count()) {}
  [[nodiscard]] Bytes streams(std::int64_t width, std::int64_t passes) const {
    return Bytes(tokens * width * passes * element);
  }
};

/// Whether the engine computes the job on a GPU, with the kernels that it measured there.
bool runs_on_cuda(const Job& job) { return job.executable() && !unsupported_by_cuda(job.model); }

AttentionWork attention_of(const Job& job, bool backward, std::int64_t position) {
  AttentionWork work;
  work.sequences = job.micro_batch;
  work.length = job.sequence_chunk.value_or(job.seq_len);
  work.prior = position * work.length;
  work.heads = job.model.heads;
  work.kv_heads = job.model.kv_heads;
  work.head_dim = job.model.head_dim;
  // Products of q and k have one size, those with v another, unless kernels want one of all.
  if (const auto& latent = job.model.latent; latent && !runs_on_cuda(job)) {
    work.head_dim = (work.head_dim + latent->value) / 2;
  }
  work.backward = backward;
  work.window = job.model.kinds.front().window;
  work.library = job.attention_library != AttentionLibrary::cudnn ? job.attention_library
                 : runs_on_cuda(job)                              ? AttentionLibrary::cudnn
                                                                  : AttentionLibrary::flash;
  const AttentionShape shape = attention_shape(job);
  work.tiled = runs_on_cuda(job) && computed_in_tiles(shape);
  if (backward && runs_on_cuda(job) && !computed_in_tiles(shape)) {
    work.sums = attention_sum_traffic(shape);
    work.narrow_keys = attention_keys_of_narrow_runs(shape);
  }
  return work;
}

/// Adds the norm, the q, k and v products, biases, q/k norms and RoPE, and attention.
void add_attention_half(Work& work, const Job& job, const MicroBatchSizes& s,
                        std::int64_t position) {
  if (is_linear(job.model.kinds.front())) {
    work.streamed += s.streams(s.hidden, job.model.norms.before_attention ? 2 : 0);
    for (const Gemm& g : delta_projections(job.model, s.tokens)) work.gemms.push_back(g);
    add_delta_rule(work, *job.model.delta_net, s.tokens, s.element);
    work.kernels += 4;
    return;
  }
  for (const Gemm& g : attention_projections(job.model, s.tokens)) work.gemms.push_back(g);
  work.attention.push_back(attention_of(job, false, position));
  work.streamed += s.streams(s.hidden, job.model.norms.before_attention ? 2 : 0) +
                   s.streams(s.query, job.model.attention_gate ? 3 : 0) +
                   (job.model.latent ? s.streams(latent_elements(job.model), 1)
                                     : s.streams(s.query + s.key_value, 2));
  work.kernels += job.model.latent ? 13 : 6;
}

enum class Side { in, out };

/// Chunks of a micro-batch's tokens: equal ones, and the rest.
struct Chunks {
  std::int64_t tokens, count;
};
std::vector<Chunks> chunks_of(std::int64_t tokens, std::int64_t chunk) {
  std::vector<Chunks> chunks;
  if (tokens >= chunk) chunks.push_back({chunk, tokens / chunk});
  if (tokens % chunk > 0) chunks.push_back({tokens % chunk, 1});
  return chunks;
}

std::int64_t mlp_chunks(const Job& job) {
  return (job.micro_tokens() + job.mlp_tokens() - 1) / job.mlp_tokens();
}

/// Width of an expert that every token passes through; 0 for none.
std::int64_t shared_width(const ModelShape& shape) {
  return shape.experts ? shape.experts->shared_intermediate : 0;
}

/// Products of gate and up, or of down, of a shared expert too: of all experts where there are any,
/// or of each chunk.
std::vector<Gemm> feed_forward(const Job& job, const MicroBatchSizes& s, Side side) {
  std::int64_t wide = s.intermediate, networks = 1;
  Gemm::Dealt dealt = Gemm::Dealt::nothing;
  std::vector<Chunks> chunks = chunks_of(s.tokens, job.mlp_tokens());
  if (const auto& experts = job.model.experts) {
    networks = expected_experts(*experts, s.tokens);
    chunks = {{std::max<std::int64_t>(1, s.tokens * experts->active / networks), 1}};
    wide = experts->intermediate;
    dealt = Gemm::Dealt::rows;
  }
  const std::int64_t ins = has_gate(job.model.activation) ? 2 : 1;
  std::vector<Gemm> products;
  products.reserve(chunks.size() + 1);
  for (const auto& [tokens, count] : chunks) {
    products.push_back(side == Side::in
                           ? Gemm{tokens, wide, s.hidden, ins * networks * count, dealt}
                           : Gemm{tokens, s.hidden, wide, networks * count, dealt});
  }
  if (const std::int64_t shared = shared_width(job.model); shared > 0) {
    products.push_back(side == Side::in ? Gemm{s.tokens, shared, s.hidden, ins}
                                        : Gemm{s.tokens, s.hidden, shared});
  }
  return products;
}

/// Adds the router's product, and the gathering of tokens for their experts.
void add_router(Work& work, const Job& job, const MicroBatchSizes& s) {
  if (!job.model.experts) return;
  work.gemms.push_back({s.tokens, job.model.experts->count, s.hidden});
  work.streamed += s.streams(s.hidden, 2 * job.model.experts->active);
  work.kernels += 3;
}

/// Adds a norm of a sublayer's output on its way into the residual.
void add_norm_after(Work& work, const MicroBatchSizes& s, bool present) {
  work.streamed += s.streams(s.hidden, present ? 2 : 0);
  work.kernels += present ? 1 : 0;
}

/// Adds the o product and the residual.
void add_residual(Work& work, const Job& job, const MicroBatchSizes& s) {
  work.gemms.push_back({s.tokens, s.hidden, s.query});
  work.streamed += s.streams(s.hidden, 3);
  work.kernels += 2;
  add_norm_after(work, s, job.model.norms.after_attention);
}

/// Adds the norm and the gate and up products.
void add_gate_up(Work& work, const Job& job, const MicroBatchSizes& s) {
  for (const Gemm& g : feed_forward(job, s, Side::in)) work.gemms.push_back(g);
  work.streamed += s.streams(s.hidden, job.model.norms.before_mlp ? 2 : 0);
  work.kernels += 3 * mlp_chunks(job);
}

/// Adds what recomputation rebuilds of a block after its attention.
void add_rebuilt_tail(Work& work, const Job& job, const MicroBatchSizes& s) {
  add_residual(work, job, s);
  if (job.chunks_mlp()) return;
  add_router(work, job, s);
  add_gate_up(work, job, s);
}

/// Adds SwiGLU, the down product and the residual.
void add_down(Work& work, const Job& job, const MicroBatchSizes& s) {
  for (const Gemm& g : feed_forward(job, s, Side::out)) work.gemms.push_back(g);
  const std::int64_t wide = s.intermediate + shared_width(job.model);
  work.streamed += s.streams(wide, has_gate(job.model.activation) ? 3 : 2) + s.streams(s.hidden, 3);
  work.kernels += 3 * mlp_chunks(job);
  add_norm_after(work, s, job.model.norms.after_mlp);
}

/// Bytes that an element of a weight's gradient is read and written with.
std::int64_t added_bytes(const Job& job) { return 2 * job.gradient_element().count(); }

/// Adds the two backward products of the forward product `g`.
void add_backward_of(Work& work, const Job& job, const Gemm& g) {
  const bool dealt = g.dealt == Gemm::Dealt::rows;
  work.gemms.push_back({g.m, g.k, g.n, g.count, dealt ? Gemm::Dealt::rows_back : g.dealt});
  work.gemms.push_back({.m = g.n,
                        .n = g.k,
                        .k = g.m,
                        .count = g.count,
                        .dealt = dealt ? Gemm::Dealt::terms : g.dealt,
                        .result_bytes = added_bytes(job)});
  work.kernels += 2 * (dealt ? 1 : g.count);
}

Work block_backward(const Job& job, const MicroBatchSizes& s, std::int64_t position) {
  Work work;
  if (job.chunks_mlp()) {
    add_gate_up(work, job, s);
    const std::int64_t weights =
        (has_gate(job.model.activation) ? 3 : 2) * s.hidden * s.intermediate;
    work.streamed += Bytes((mlp_chunks(job) - 1) * weights * 2 * 4);  // fp32 gradients, both ways
  }
  for (const Side side : {Side::out, Side::in}) {
    for (const Gemm& g : feed_forward(job, s, side)) add_backward_of(work, job, g);
  }
  const bool linear = is_linear(job.model.kinds.front());
  add_backward_of(work, job, {s.tokens, s.hidden, s.query});  // o
  if (linear) {
    for (const Gemm& g : delta_projections(job.model, s.tokens)) add_backward_of(work, job, g);
  } else {
    for (const Gemm& g : attention_projections(job.model, s.tokens)) add_backward_of(work, job, g);
  }
  add_router(work, job, s);
  if (linear) {
    add_delta_rule_backward(work, *job.model.delta_net, s.tokens, s.element);
  } else {
    work.attention.push_back(attention_of(job, true, position));
    work.streamed +=
        s.streams(s.query, job.model.attention_gate ? 5 : 0) +
        (job.model.latent ? s.streams(latent_backward_elements(job.model), 1)
                          : s.streams(s.query + s.key_value, 2));  // RoPE and q/k norms backward
    work.kernels += job.model.latent ? 10 : 0;
    if (runs_on_cuda(job)) work.waited += general_norm_traffic(job.model, job.seq_len, s.tokens);
  }
  const NormSlots& norms = job.model.norms;
  const std::int64_t before = (norms.before_attention ? 1 : 0) + (norms.before_mlp ? 1 : 0);
  const std::int64_t after = (norms.after_attention ? 1 : 0) + (norms.after_mlp ? 1 : 0);
  const std::int64_t wide = s.intermediate + shared_width(job.model);
  // Gate, up, d act; act, d gate, d up: without a gate, two fewer.
  work.streamed += s.streams(wide, has_gate(job.model.activation) ? 6 : 4) +
                   s.streams(s.hidden, 2 * before)  // outputs of norms before sublayers again
                   // Norms' backward, before sublayers onto the residual's gradient.
                   + s.streams(s.hidden, 4 * (before + after));
  work.kernels += 7;
  return work;
}

/// Update of a block by Muon, AdamW for its vectors. Of a matrix, m and the gradient are read twice
/// and m written, masters read and written, and the iterate written, scaled, and read at the end.
Work block_update(const Job& job, std::size_t unit) {
  constexpr std::int64_t kOfMuon = 28, kOfAdamW = 28;
  // Sums of squares by block and of all, the first iterate, and the weights.
  constexpr std::int64_t kBesideProducts = 4, kProducts = 3;
  Work work;
  work.gemms = muon_products(job, unit);
  std::int64_t elements = 0;
  for (const auto& [side, other, count] : muon_matrices(job, unit)) {
    elements += count * side * other;
    work.kernels += count * (kBesideProducts + kProducts * job.optimizer.muon.ns_steps);
  }
  const std::int64_t rest = unit_padded_size(job.model, unit) - elements;
  const std::int64_t of_muon = kOfMuon + 2 * job.compute_element().count();
  work.streamed = Bytes(of_muon * elements + kOfAdamW * rest);
  work.kernels += 1;
  return work;
}

/// A product with the head's weights or logits, [m, k] by [k, n].
Gemm head_product(const Job& job, std::int64_t m, std::int64_t n, std::int64_t k,
                  std::int64_t count) {
  return {.m = m, .n = n, .k = k, .count = count, .slowing = row_slowing(job.model.vocab)};
}

Work loss(const Job& job, const MicroBatchSizes& s) {
  Work work;
  const std::int64_t vocab = padded_vocabulary(job.model.vocab);
  for (const auto& [tokens, count] : chunks_of(s.tokens, job.loss_chunk)) {
    work.gemms.push_back(head_product(job, tokens, vocab, s.hidden, count));  // logits
    work.gemms.push_back(head_product(job, tokens, s.hidden, vocab, count));  // d hidden
    work.gemms.push_back(head_product(job, vocab, s.hidden, tokens, count));  // d lm_head
    work.gemms.back().result_bytes = added_bytes(job);
    work.streamed += Bytes(tokens * vocab * 2 * 4 * count);  // fp32 logits to their gradient
    work.kernels += 4 * count;
  }
  work.streamed += s.streams(s.hidden, 2) + s.streams(s.hidden, 3);
  work.kernels += 2;
  return work;
}

Work head_forward(const Job& job, const MicroBatchSizes& s) {
  Work work;
  const std::int64_t vocab = padded_vocabulary(job.model.vocab);
  const std::int64_t rows = job.sequence_chunk ? 1 : s.tokens;
  for (const auto& [tokens, count] : chunks_of(rows, job.loss_chunk)) {
    work.gemms.push_back(head_product(job, tokens, vocab, s.hidden, count));
    work.streamed += Bytes(tokens * vocab * 4 * count);
    work.kernels += 2 * count;
  }
  work.streamed += Bytes(rows * s.hidden * 2 * s.element);
  work.kernels += 1;
  return work;
}

/// Work of a pass in bf16 or fp32, of a model whose layers are of one kind.
Work plain_work(const Job& job, Pass pass, std::size_t unit, std::int64_t position) {
  const MicroBatchSizes s(job);
  Work work;
  switch (pass) {
    case Pass::embed_forward:
      work.streamed = s.streams(s.hidden, 2);
      work.kernels = 1;
      return work;
    case Pass::block_forward:
      add_attention_half(work, job, s, position);
      add_residual(work, job, s);
      add_router(work, job, s);
      add_gate_up(work, job, s);
      add_down(work, job, s);
      return work;
    case Pass::block_route:
      add_attention_half(work, job, s, position);
      add_residual(work, job, s);
      add_router(work, job, s);
      return work;
    case Pass::block_experts:
      add_gate_up(work, job, s);
      add_down(work, job, s);
      return work;
    case Pass::loss:
      return loss(job, s);
    case Pass::head_forward:
      return head_forward(job, s);
    case Pass::block_recompute_input:
      add_attention_half(work, job, s, position);
      add_rebuilt_tail(work, job, s);
      return work;
    case Pass::block_recompute_kv:
      if (is_linear(job.model.kinds.front())) {
        add_attention_half(work, job, s, position);
        add_rebuilt_tail(work, job, s);
        return work;
      }
      work.attention.push_back(attention_of(job, false, position));
      [[fallthrough]];
    case Pass::block_recompute_attention:
      work.gemms.push_back({s.tokens, s.query, s.hidden});
      work.streamed += s.streams(s.hidden, 2) + s.streams(s.query, 2);
      work.kernels += 3;
      [[fallthrough]];
    case Pass::block_recompute_selective:
      add_rebuilt_tail(work, job, s);
      return work;
    case Pass::block_backward:
      return block_backward(job, s, position);
    case Pass::embed_backward:  // rows are sorted by token, then added onto fp32 rows
      work.streamed = s.streams(s.hidden, 1) + Bytes(s.tokens * s.hidden * 2 * 4);
      work.kernels = 2;
      return work;
    case Pass::combine:  // embedding gradient += lm_head gradient, fp32
      work.streamed = Bytes(job.model.vocab * s.hidden * 3 * 4);
      work.kernels = 1;
      return work;
    case Pass::sum_groups:  // a sum of gradients += another
      work.streamed = job.gradient_element() * (3 * unit_padded_size(job.model, unit));
      work.kernels = 1;
      return work;
    case Pass::norm:
      work.streamed = job.gradient_element() * unit_padded_size(job.model, unit);
      work.kernels = 1;
      return work;
    case Pass::block_update:
      return block_update(job, unit);
    case Pass::sum_ranks:
    case Pass::sum_norms:
      break;
  }
  throw std::logic_error("contract broken: unknown pass");
}

}  // namespace

Work work_of(const Job& job, Pass pass, std::size_t unit, std::int64_t position) {
  if (job.model.kinds.size() > 1) return work_of(uniform_job(job, unit), pass, unit, position);
  const bool eager = job.operators == Operators::eager && pass != Pass::block_update;
  if (eager) return eager_work(job, pass, unit, position);
  Work work = plain_work(job, pass, unit, position);
  if (is_fp8(job.compute)) add_fp8(work, job, pass);
  return work;
}

Work slice_work(const Job& job, Pass pass, std::int64_t ranks, std::int64_t parameters) {
  Work work;
  work.kernels = 1;
  switch (pass) {
    case Pass::sum_ranks:  // every rank's sum is read, this rank's written
      work.streamed = job.gradient_element() * ((ranks + 1) * parameters);
      return work;
    case Pass::combine:
      work.streamed = job.gradient_element() * (3 * parameters);
      return work;
    case Pass::norm:
      work.streamed = job.gradient_element() * parameters;
      return work;
    case Pass::sum_norms:
      work.streamed = Bytes(8 * parameters);
      return work;
    default:
      break;
  }
  throw std::logic_error("contract broken: a slice has no work of this pass");
}

}  // namespace sluice::planner
