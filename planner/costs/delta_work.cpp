#include "planner/costs/delta_work.hpp"

namespace sluice::planner {
namespace {

/// Bytes of the states before all chunks, written and read once.
Bytes state_traffic(const DeltaNet& net, std::int64_t tokens) {
  return Bytes(std::int64_t{8} * ((tokens + kDeltaChunk - 1) / kDeltaChunk) * net.state());
}

/// Adds products of the rule: with n tokens of a chunk, K = key_dim and V = value_dim, `pairs` of
/// [n, K] by [K, n], `mixes` of [n, n] by [n, V], `states` of [n, K] by [K, V].
void add_products(Work& work, const DeltaNet& net, std::int64_t tokens, std::int64_t pairs,
                  std::int64_t mixes, std::int64_t states) {
  const std::int64_t rows = tokens * net.value_heads;
  work.gemms.push_back({rows, kDeltaChunk, net.key_dim, pairs});
  work.gemms.push_back({rows, net.value_dim, kDeltaChunk, mixes});
  work.gemms.push_back({rows, net.value_dim, net.key_dim, states});
}

/// Adds a triangular system, half of a product of the same sizes.
void add_solve(Work& work, const DeltaNet& net, std::int64_t tokens, std::int64_t count) {
  work.gemms.push_back({tokens * net.value_heads, net.value_dim, kDeltaChunk / 2, count});
}

}  // namespace

std::vector<Gemm> delta_projections(const ModelShape& shape, std::int64_t tokens) {
  const DeltaNet& net = *shape.delta_net;
  return {{tokens, net.keys(), shape.hidden, 2},
          {tokens, net.values(), shape.hidden, 2},
          {tokens, net.value_heads, shape.hidden, 2}};
}

void add_delta_rule(Work& work, const DeltaNet& net, std::int64_t tokens, std::int64_t element) {
  add_products(work, net, tokens, 2, 1, 3);
  add_solve(work, net, tokens, 1);
  work.streamed += Bytes(tokens * element * (4 * net.channels() + 4 * net.values())) +
                   state_traffic(net, tokens);
  work.kernels += 8;
}

void add_delta_rule_backward(Work& work, const DeltaNet& net, std::int64_t tokens,
                             std::int64_t element) {
  // States again: pairs 2, system 1, states 2; a chunk again: pairs 2, system 1, states 1; then
  // gradients.
  add_products(work, net, tokens, 2 + 2 + 4, 3, 2 + 1 + 6);
  add_solve(work, net, tokens, 1 + 1 + 1);
  work.streamed += Bytes(tokens * element * (8 * net.channels() + 9 * net.values())) +
                   state_traffic(net, tokens);
  work.kernels += 20;
}

}  // namespace sluice::planner
