// Work of one head of one sequence, with E elements of the tiles of 128 x 128 scores that hold a
// visible one, and heads of d elements:
//   forward   products  q k^T, weights v                              2 x 2 d E FLOPs
//             scores    products written and read, fp32; weights, bf16  12 E bytes
//   backward  products  q k^T, d_out v^T, d_q, d_k, d_v               5 x 2 d E FLOPs
//             scores    products and gradients of weights written and read, fp32; weights written,
//                       and read for d_v; gradients of products written, and read for d_q and d_k,
//                       bf16                                           26 E bytes
#include "planner/costs/tiled_work.hpp"

#include <algorithm>

#include "planner/costs/profile_rates.hpp"
#include "planner/scratch/tiled_attention.hpp"

namespace sluice::planner {
namespace {

constexpr std::int64_t kScoreTile = 128;

/// Tiles of one head of one sequence that a query sees some key of.
std::int64_t visible_tiles(const AttentionShape& shape) {
  std::int64_t tiles = 0;
  for (const AttentionBlock& block : tiled_attention_blocks(shape)) {
    for (std::int64_t row = 0; row < block.queries; row += kScoreTile) {
      const std::int64_t first = block.first_query + row;
      const std::int64_t last = std::min(first + kScoreTile, block.first_query + block.queries) - 1;
      const std::int64_t low =
          shape.window ? std::max(block.first_key, first + 1 - *shape.window) : block.first_key;
      tiles += (last - block.first_key) / kScoreTile - (low - block.first_key) / kScoreTile + 1;
    }
  }
  return tiles;
}

}  // namespace

TiledWork tiled_work(const AttentionWork& attention) {
  const AttentionShape shape{
      .sequences = attention.sequences,
      .length = attention.length,
      .heads = attention.heads,
      .kv_heads = attention.kv_heads,
      .head_dim = attention.head_dim,
      .qkv_row = (attention.heads + 2 * attention.kv_heads) * attention.head_dim,
      .out_row = attention.heads * attention.head_dim,
      .window = attention.window};
  const std::int64_t elements =
      attention.sequences * attention.heads * visible_tiles(shape) * kScoreTile * kScoreTile;
  const double product = 2.0 * static_cast<double>(attention.head_dim * elements);
  return {.products = Flops((attention.backward ? 5 : 2) * product),
          .scores = Bytes((attention.backward ? 26 : 12) * elements)};
}

Seconds tiled_time(const MachineProfile& profile, const AttentionWork& attention) {
  constexpr double kShare = 0.15;
  const TiledWork work = tiled_work(attention);
  return work.products / (kShare * scaled_for_experts(profile).value) +
         work.scores / profile.hbm_bandwidth.value;
}

}  // namespace sluice::planner
