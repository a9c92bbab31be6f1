#include "engine/cuda/products/gemm_product.hpp"

#include <algorithm>
#include <set>

#include "engine/host/unit_slots.hpp"
#include "planner/models/muon.hpp"
#include "planner/models/unit_classes.hpp"
#include "planner/scratch/delta_scratch.hpp"

namespace sluice::engine {
namespace {

struct Linear {
  std::int64_t tokens, in, out;
  /// Whether the forward product has a bias, and whether it is added onto a matrix.
  bool bias, adds;
  bool fp8 = false, tensorwise = false;
};

void add_products(const Linear& linear, std::set<GemmKey>& keys) {
  // A bias of an FP8 product is added by a kernel of its own.
  GemmKey key{.product = GemmProduct::forward,
              .tokens = linear.tokens,
              .in = linear.in,
              .out = linear.out,
              .bias = linear.bias && !linear.fp8,
              .adds = linear.adds,
              .fp8 = linear.fp8,
              .tensorwise = linear.tensorwise};
  keys.insert(key);
  key.bias = key.adds = false;
  key.product = GemmProduct::input_gradient;
  keys.insert(key);
  key.product = GemmProduct::weight_gradient;
  keys.insert(key);
  key.adds = true;
  keys.insert(key);
}

/// Sizes of the chunks that `tokens` tokens are processed in: `chunk` each, and the remainder.
std::vector<std::int64_t> chunk_sizes(std::int64_t tokens, std::int64_t chunk) {
  std::vector<std::int64_t> sizes = {chunk};
  if (tokens % chunk > 0) sizes.push_back(tokens % chunk);
  return sizes;
}

}  // namespace

const char* to_string(GemmProduct product) {
  switch (product) {
    case GemmProduct::forward:
      return "forward";
    case GemmProduct::input_gradient:
      return "input_gradient";
    case GemmProduct::weight_gradient:
      return "weight_gradient";
  }
  return "";
}

std::string to_string(const GemmKey& key) {
  return std::string(to_string(key.product)) + " " + std::to_string(key.tokens) + " x " +
         std::to_string(key.in) + " x " + std::to_string(key.out) + (key.bias ? " with bias" : "") +
         (key.adds ? " onto a matrix" : "") + (key.fp8 ? " in FP8" : "") +
         (key.tensorwise ? " with one scale an operand" : "");
}

GemmElements elements_of(const GemmKey& key) {
  const std::int64_t x = key.tokens * key.in, w = key.in * key.out, y = key.tokens * key.out;
  switch (key.product) {
    case GemmProduct::forward:
      return {w, x, y};
    case GemmProduct::input_gradient:
      return {w, y, x};
    case GemmProduct::weight_gradient:
      return {x, y, w};
  }
  return {};
}

Bytes output_element(GemmProduct product) {
  return Bytes(product == GemmProduct::weight_gradient ? 4 : 2);
}

namespace {

/// Adds the products that make queries, keys and values of latent attention: of the token, and of
/// narrow projections, of which keys and values are made together.
void add_latent(std::int64_t tokens, const BlockSlots& slots, std::set<GemmKey>& keys) {
  const auto add = [&](const Projection& projection, std::int64_t more = 0) {
    add_products({tokens, projection.weight.cols, projection.weight.rows + more,
                  projection.bias.exists(), false},
                 keys);
  };
  if (slots.latent.query.weight.exists()) add(slots.latent.query);
  add(slots.q);
  add(slots.latent.key);
  add(slots.latent.shared);
  add(slots.k, slots.v.weight.rows);
}

/// Adds the products of a block of `uniform`, a model whose layers are of one kind: q, k and v
/// together, with all other projections of a gated delta net, o onto the residual stream, gate and
/// up together, down onto the residual stream. What a norm or a factor stands behind joins the
/// stream in a kernel of its own. Products of routed experts do not use the library
/// (docs/design/moe.md).
void add_block(const planner::Job& job, const planner::ModelShape& uniform, std::set<GemmKey>& keys,
               bool fp8) {
  const BlockSlots slots = block_slots(uniform);
  const std::int64_t tokens = job.micro_tokens(), hidden = uniform.hidden;
  const std::int64_t query = uniform.heads * uniform.head_dim;
  const std::int64_t qkv = query + 2 * uniform.kv_heads * uniform.head_dim;
  const bool scales = uniform.scales.residual != 1;
  const auto joins = [&](const Slot& norm) { return !norm.exists() && !scales; };
  const bool tensorwise = fp8 && job.compute == planner::ComputeType::fp8_tensorwise;
  if (slots.delta.exist()) {
    add_products({tokens, hidden, planner::delta_row(*uniform.delta_net), false, false}, keys);
  } else if (slots.latent.exist()) {
    add_latent(tokens, slots, keys);
  } else {
    add_products({tokens, hidden, qkv, slots.q.bias.exists(), false, fp8, tensorwise}, keys);
    if (uniform.attention_gate) add_products({tokens, hidden, query, false, false}, keys);
  }
  add_products({tokens, slots.o.weight.cols, hidden, slots.o.bias.exists(),
                joins(slots.norm_after_attention), fp8, tensorwise},
               keys);
  if (uniform.experts) {
    const std::int64_t shared = uniform.experts->shared_intermediate;
    if (shared == 0) return;
    add_products({tokens, hidden, 2 * shared, false, false}, keys);
    add_products({tokens, shared, hidden, false, false}, keys);
    return;
  }
  const std::int64_t wide = (planner::has_gate(uniform.activation) ? 2 : 1) * uniform.intermediate;
  for (const std::int64_t count : chunk_sizes(tokens, job.mlp_tokens())) {
    const bool adds = joins(slots.norm_after_mlp), bias = slots.down.bias.exists();
    add_products({count, hidden, wide, slots.up.bias.exists(), false, fp8, tensorwise}, keys);
    add_products({count, uniform.intermediate, hidden, bias, adds, fp8, tensorwise}, keys);
  }
}

/// Adds the products of Newton-Schulz iterations X <- a X + (b A + c A A) X with A = X X^T, for X
/// [side, other] of every matrix that Muon updates.
void add_updates(const planner::Job& job, std::set<GemmKey>& keys) {
  for (const planner::BlockClass& each : planner::block_classes(job.model)) {
    for (const auto& [side, other, count] : planner::muon_matrices(job, each.unit)) {
      keys.insert({.product = GemmProduct::forward, .tokens = side, .in = other, .out = side});
      keys.insert(
          {.product = GemmProduct::forward, .tokens = side, .in = side, .out = side, .adds = true});
      keys.insert({.product = GemmProduct::input_gradient,
                   .tokens = side,
                   .in = other,
                   .out = side,
                   .adds = true});
    }
  }
}

}  // namespace

std::vector<GemmKey> gemm_keys(const planner::Job& job) {
  const planner::ModelShape& shape = job.model;
  const std::int64_t tokens = job.micro_tokens();
  std::set<GemmKey> keys;
  for (std::size_t kind = 0; kind < shape.kinds.size(); ++kind) {
    if (planner::layers_of_kind(shape, kind) == 0) continue;
    add_block(job, planner::uniform_shape(shape, kind), keys, false);
    if (planner::is_fp8(job.compute)) {
      add_block(job, planner::uniform_shape(shape, kind), keys, true);
    }
  }
  if (job.optimizer.kind == planner::OptimizerKind::muon) add_updates(job, keys);
  // The head's products.
  for (const std::int64_t count : chunk_sizes(tokens, std::min(job.loss_chunk, tokens))) {
    add_products({count, shape.hidden, shape.vocab, false, false}, keys);
  }
  return {keys.begin(), keys.end()};
}

}  // namespace sluice::engine
