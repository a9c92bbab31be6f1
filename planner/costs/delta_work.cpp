#include "planner/costs/delta_work.hpp"

#include "planner/scratch/delta_scratch.hpp"

namespace sluice::planner {
namespace {

constexpr std::int64_t kFloat = 4;

/// Numbers of products of the rule's chunks, with n tokens of a chunk, K = key_dim and V =
/// value_dim.
struct RuleProducts {
  std::int64_t key_pairs;    ///< [n, K] by [K, n].
  std::int64_t value_pairs;  ///< [n, V] by [V, n].
  std::int64_t key_mixes;    ///< [n, n] by [n, K].
  std::int64_t value_mixes;  ///< [n, n] by [n, V].
  std::int64_t states;       ///< [n, K] by [K, V], in any order.
};

void add_products(Work& work, const DeltaNet& net, std::int64_t tokens,
                  const RuleProducts& products) {
  const std::int64_t rows = tokens * net.value_heads;
  const auto add = [&](std::int64_t n, std::int64_t k, std::int64_t count) {
    if (count <= 0) return;
    work.gemms.push_back({.m = rows, .n = n, .k = k, .count = count, .chunks = true});
  };
  add(kDeltaChunk, net.key_dim, products.key_pairs);
  add(kDeltaChunk, net.value_dim, products.value_pairs);
  add(net.key_dim, kDeltaChunk, products.key_mixes);
  add(net.value_dim, kDeltaChunk, products.value_mixes);
  add(net.value_dim, net.key_dim, products.states);
}

/// Bytes of fp32 arrays of DeltaRuleSpace that are written or read, in times that each is.
struct RuleArrays {
  std::int64_t keys;    ///< [tokens, heads, K].
  std::int64_t values;  ///< [tokens, heads, V].
  std::int64_t pairs;   ///< [tokens, heads, chunk].
  std::int64_t states;  ///< [chunks, heads, K, V].
};

Bytes traffic(const DeltaNet& net, std::int64_t tokens, const RuleArrays& times) {
  const std::int64_t row =
      times.keys * net.key_dim + times.values * net.value_dim + times.pairs * kDeltaChunk;
  return Bytes(kFloat * (tokens * net.value_heads * row +
                         times.states * delta_states(tokens) * net.state()));
}

}  // namespace

std::vector<Gemm> delta_projections(const ModelShape& shape, std::int64_t tokens) {
  return {{tokens, delta_row(*shape.delta_net), shape.hidden, 1}};
}

void add_delta_rule(Work& work, const DeltaNet& net, std::int64_t tokens, std::int64_t element) {
  // Systems: K K^T, Q K^T, U and W; the walk: W S, Q S, P N and K^T N.
  add_products(work, net, tokens, {2, 0, 1, 2, 3});
  // W, U and P are written and read.
  work.streamed += traffic(net, tokens, {.keys = 2, .values = 2, .pairs = 2, .states = 0});
  // The convolution's inputs and outputs, these for lengths, systems and the walk (no values); the
  // rule's output; the norm's input, gate and output.
  const std::int64_t row = 3 * net.channels() + 4 * net.keys() + 4 * net.values();
  work.streamed += Bytes(tokens * element * row);
  work.kernels += 6;
}

void add_delta_rule_backward(Work& work, const DeltaNet& net, std::int64_t tokens,
                             std::int64_t element) {
  // Systems and W S, K^T N again; back: P^T dO, K dS', Q^T dO, W^T dN; chunks: K K^T, (I + A)^-T
  // dN, dR N^T, dO N^T, dO S^T, dR S^T, N dS'^T and three products with K and Q.
  add_products(work, net, tokens, {3, 2, 4, 3, 8});
  // Systems write W, U, P and (I + A)^-1; the walk reads W and U and writes N and S; back: W and P
  // are read, dN and dS written; chunks: N, dN, both pairs, S and dS are read, dQ and dK written,
  // which are read last.
  work.streamed += traffic(net, tokens, {.keys = 7, .values = 6, .pairs = 5, .states = 4});
  // The norm again, and backward; convolution, lengths, systems, walks and chunks; gradients of
  // values, of lengths and of the convolution.
  const std::int64_t row = 7 * net.channels() + 10 * net.keys() + 11 * net.values();
  work.streamed += Bytes(tokens * element * row);
  work.kernels += 14;
}

}  // namespace sluice::planner
