#include "engine/cuda/attention/tiled_attention.hpp"

#include <cmath>

#include "engine/cuda/kernels/gradient.hpp"

namespace sluice::engine {
namespace {

template <class T>
T* at(void* workspace, Bytes offset) {
  return reinterpret_cast<T*>(static_cast<std::byte*>(workspace) + offset.count());
}
const std::uint16_t* bf16(const void* memory, std::int64_t element) {
  return static_cast<const std::uint16_t*>(memory) + element;
}
std::uint16_t* bf16(void* memory, std::int64_t element) {
  return static_cast<std::uint16_t*>(memory) + element;
}

}  // namespace

TiledAttention::TiledAttention(const planner::AttentionShape& shape)
    : shape_(shape),
      part_(planner::tiled_attention_part(shape)),
      space_(planner::tiled_attention_space(shape)),
      blocks_(planner::tiled_attention_blocks(shape)) {}

TiledAttention::Places TiledAttention::places_of(Origin origin) const {
  const std::int64_t token = origin.sequence * shape_.length;
  const std::int64_t head = origin.kv_head * (shape_.heads / shape_.kv_heads);
  return {.query = token * shape_.qkv_row + head * shape_.head_dim,
          .key = token * shape_.qkv_row + origin.kv_head * shape_.head_dim,
          .out = token * shape_.out_row + head * shape_.head_dim,
          .lse = (origin.sequence * shape_.heads + head) * shape_.length};
}

cuda::ScoreBlock TiledAttention::block_of(const planner::AttentionBlock& range, Origin origin,
                                          const std::int32_t* starts) const {
  const double usual = 1 / std::sqrt(static_cast<double>(shape_.head_dim));
  return {.sequences = part_.sequences,
          .heads = part_.kv_heads * (shape_.heads / shape_.kv_heads),
          .kv_heads = part_.kv_heads,
          .length = shape_.length,
          .head_dim = shape_.head_dim,
          .first_query = range.first_query,
          .queries = range.queries,
          .first_key = range.first_key,
          .keys = range.keys,
          .score_row = planner::tiled_score_row(shape_),
          .window = shape_.window.value_or(0),
          .lse_heads = shape_.heads,
          .scale = static_cast<float>(shape_.scale.value_or(usual)),
          .softcap = static_cast<float>(shape_.softcap.value_or(0)),
          .starts = shape_.documents ? starts + origin.sequence * shape_.length : nullptr};
}

template <class Body>
void TiledAttention::for_runs(Body body) const {
  for (std::int64_t sequence = 0; sequence < shape_.sequences; sequence += part_.sequences) {
    for (std::int64_t kv_head = 0; kv_head < shape_.kv_heads; kv_head += part_.kv_heads) {
      body(Origin{sequence, kv_head});
    }
  }
}

void TiledAttention::forward(cudaStream_t stream, const Operands& of, void* workspace) const {
  for_runs([&](Origin origin) { run_forward(stream, origin, of, workspace); });
}

void TiledAttention::backward(cudaStream_t stream, const AttentionGradients& of,
                              void* workspace) const {
  for_runs([&](Origin origin) { run_backward(stream, origin, of, workspace); });
}

void TiledAttention::run_forward(cudaStream_t stream, Origin origin, const Operands& of,
                                 void* workspace) const {
  const Places places = places_of(origin);
  const cuda::HeadRows q{bf16(of.q, places.query), shape_.qkv_row};
  const cuda::HeadRows k{bf16(of.k, places.key), shape_.qkv_row};
  const cuda::HeadRows v{bf16(of.v, places.key), shape_.qkv_row};
  auto* scores = at<float>(workspace, space_.scores);
  auto* weights = at<std::uint16_t>(workspace, space_.weights);
  for (const planner::AttentionBlock& range : blocks_) {
    const cuda::ScoreBlock block = block_of(range, origin, of.starts);
    cuda::multiply_pairs(stream, block, q, k, scores);
    cuda::softmax_rows(stream, block, scores, weights, of.lse + places.lse);
    cuda::weigh_keys(stream, block, weights, v, bf16(of.out, places.out), shape_.out_row);
  }
}

void TiledAttention::run_backward(cudaStream_t stream, Origin origin, const AttentionGradients& of,
                                  void* workspace) const {
  const Places places = places_of(origin);
  const cuda::HeadRows q{bf16(of.q, places.query), shape_.qkv_row};
  const cuda::HeadRows k{bf16(of.k, places.key), shape_.qkv_row};
  const cuda::HeadRows v{bf16(of.v, places.key), shape_.qkv_row};
  const cuda::HeadRows out{bf16(of.out, places.out), shape_.out_row};
  const cuda::HeadRows d_out{bf16(of.d_out, places.out), shape_.out_row};
  auto* scores = at<float>(workspace, space_.scores);
  auto* weights = at<std::uint16_t>(workspace, space_.weights);
  auto* d_scores = at<float>(workspace, space_.d_scores);
  auto* d_products = at<std::uint16_t>(workspace, space_.d_products);
  auto* d_keys = at<float>(workspace, space_.d_keys);
  auto* d_values = at<float>(workspace, space_.d_values);
  cuda::fill_zero(stream, d_keys, space_.d_values - space_.d_keys);
  cuda::fill_zero(stream, d_values, space_.total - space_.d_values);
  for (const planner::AttentionBlock& range : blocks_) {
    const cuda::ScoreBlock block = block_of(range, origin, of.starts);
    cuda::multiply_pairs(stream, block, q, k, scores);
    cuda::multiply_pairs(stream, block, d_out, v, d_scores);
    cuda::softmax_rows_backward(stream, block, scores, d_scores, of.lse + places.lse, out, d_out,
                                weights, d_products);
    cuda::weigh_keys(stream, block, d_products, k, bf16(of.d_q, places.query), shape_.qkv_row);
    for (std::int64_t member = 0; member < shape_.heads / shape_.kv_heads; ++member) {
      cuda::add_over_queries(stream, block, member, weights, d_out, d_values);
      cuda::add_over_queries(stream, block, member, d_products, q, d_keys);
    }
  }
  const cuda::ScoreBlock block = block_of(blocks_.front(), origin, of.starts);
  cuda::round_keys(stream, block, d_keys, bf16(of.d_k, places.key), shape_.qkv_row);
  cuda::round_keys(stream, block, d_values, bf16(of.d_v, places.key), shape_.qkv_row);
}

}  // namespace sluice::engine
