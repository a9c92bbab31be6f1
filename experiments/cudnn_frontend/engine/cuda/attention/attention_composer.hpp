// Building blocks of attention's operation graphs: its tensors by layout, and operations that
// several graphs use.
#pragma once

#include <cudnn_frontend.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/cuda/attention/attention_graph.hpp"

namespace sluice::engine {

using cudnn_frontend::DataType_t;
using cudnn_frontend::PointwiseMode_t;
using cudnn_frontend::ReductionMode_t;

/// Sizes, strides, type and place of a tensor.
using CudnnLayout = cudnn_frontend::graph::Tensor_attributes;
/// A tensor of a graph: what the caller gives, or an operation's result, which exists only inside
/// the fused kernel unless `write` gives it a place in the caller's memory.
using CudnnTensor = std::shared_ptr<CudnnLayout>;

/// Composes a cuDNN operation graph for attention of one shape. cuDNN recognises these graphs by
/// their form, so the order of operations and arguments must be the one it expects.
class AttentionComposer {
 public:
  using Sizes = std::array<std::int64_t, 4>;
  AttentionComposer(const AttentionShape& shape, std::string what);

  /// Layout of tensor `name` with one row for each query, bf16 [sequences, heads, queries,
  /// head_dim], with `row` elements from token to token.
  [[nodiscard]] CudnnLayout of_queries(AttentionTensor name, std::int64_t row) const {
    return tokens(name, shape_.heads, queries(), row);
  }
  /// Layout of tensor `name` with one row for each key, bf16 [sequences, kv_heads, length,
  /// head_dim], with qkv_row elements from token to token.
  [[nodiscard]] CudnnLayout of_keys(AttentionTensor name) const {
    return tokens(name, shape_.kv_heads, shape_.length, shape_.qkv_row);
  }
  [[nodiscard]] CudnnLayout key_gradient(AttentionTensor name, KeyGradients gradients) const {
    if (gradients == KeyGradients::whole) return of_keys(name);
    return tokens(name, shape_.kv_heads, shape_.length, shape_.head_dim);
  }
  /// Layout of keys or values as their transpose, [sequences, kv_heads, head_dim, length], in the
  /// same memory, with `row` elements from token to token.
  [[nodiscard]] CudnnLayout transposed(AttentionTensor name, std::int64_t row) const;
  [[nodiscard]] CudnnLayout per_query(AttentionTensor name) const {
    return layout(name, DataType_t::FLOAT, query_sizes(), packed(query_sizes()));
  }
  [[nodiscard]] CudnnLayout d_q_sum() const {
    return layout(AttentionTensor::d_q_sum, DataType_t::FLOAT, head_sizes(), packed(head_sizes()));
  }

  CudnnTensor read(const CudnnLayout& place) { return graph_->tensor(place); }
  CudnnTensor scalar(AttentionTensor name, DataType_t type = DataType_t::FLOAT);
  /// Makes an operation's result lie in the caller's memory.
  static CudnnTensor write(CudnnTensor result, const CudnnLayout& place) {
    *result = place;
    return result;
  }

  /// The matrix product a b over the last two dimensions; where b has fewer heads than a, a group
  /// of a's heads shares each of b's.
  CudnnTensor matmul(CudnnTensor a, CudnnTensor b);
  /// Element-wise operations, computed in fp32 or type `math`.
  CudnnTensor apply(PointwiseMode_t mode, CudnnTensor x);
  CudnnTensor apply(PointwiseMode_t mode, CudnnTensor x, CudnnTensor b,
                    DataType_t math = DataType_t::FLOAT);
  /// Reduces x by `mode` to one value for each query.
  CudnnTensor reduce(ReductionMode_t mode, CudnnTensor x);
  /// d_out * out, summed over head_dim.
  CudnnTensor dot(CudnnTensor d_out, CudnnTensor out);
  /// The elements of x seen with other sizes and strides, as bf16.
  CudnnTensor view(CudnnTensor x, const Sizes& sizes, const Sizes& strides);
  /// The keys from their transpose k, whose tokens are `row` elements apart.
  CudnnTensor keys_of(CudnnTensor k, std::int64_t row);

  /// Sets scores to minus infinity where the query must not see the key: if the key comes after the
  /// query, before the query's window, or before the query's document.
  CudnnTensor mask(CudnnTensor x);
  /// a^T b for each head of queries, summed over the heads that share a head of keys, to `place`.
  void gradient_of_keys(CudnnTensor a, CudnnTensor b, const CudnnLayout& place);

  [[nodiscard]] CudnnPlan build(const Cudnn& cudnn) const { return {cudnn, graph_, what_}; }

 private:
  [[nodiscard]] std::int64_t queries() const { return shape_.queries.value_or(shape_.length); }
  [[nodiscard]] Sizes query_sizes() const { return {shape_.sequences, shape_.heads, queries(), 1}; }
  [[nodiscard]] Sizes head_sizes() const {
    return {shape_.sequences, shape_.heads, queries(), shape_.head_dim};
  }
  static Sizes packed(const Sizes& sizes) {
    return {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1};
  }
  static CudnnLayout layout(AttentionTensor name, DataType_t type, const Sizes& sizes,
                            const Sizes& strides);
  [[nodiscard]] CudnnLayout tokens(AttentionTensor name, std::int64_t heads, std::int64_t count,
                                   std::int64_t row) const;
  /// The index of each element of scores along dimension `axis`.
  CudnnTensor index(CudnnTensor scores, std::int64_t axis);
  /// The scores x where `query` `mode` `key` holds; minus infinity elsewhere.
  CudnnTensor keep(CudnnTensor x, PointwiseMode_t mode, CudnnTensor left, CudnnTensor right);
  /// Position of each query in its sequence, where keys are counted; differs from the query's index
  /// only if the shape has fewer queries than keys.
  CudnnTensor position(CudnnTensor query);

  AttentionShape shape_;
  std::string what_;
  std::shared_ptr<cudnn_frontend::graph::Graph> graph_;
  CudnnTensor minus_infinity_;
};

}  // namespace sluice::engine
