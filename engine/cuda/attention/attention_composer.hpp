// Building blocks of attention's operation graphs: its tensors by layout, and operations that
// several graphs use.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "engine/cuda/attention/attention_graph.hpp"
#include "engine/cuda/attention/cudnn_graph.hpp"

namespace sluice::engine {

/// Composes a cuDNN operation graph for attention of one shape. cuDNN recognises these graphs by
/// their form, so the order of operations and arguments must be the one it expects.
class AttentionComposer {
 public:
  AttentionComposer(const Cudnn& cudnn, const AttentionShape& shape, std::string what)
      : graph(cudnn, std::move(what)), shape_(shape) {}

  CudnnTensor scalar(AttentionTensor name) {
    return graph.scalar(static_cast<std::int64_t>(name), CUDNN_DATA_FLOAT);
  }
  /// Adds tensor `name` with one row for each query, bf16 [sequences, heads, queries, head_dim], in
  /// the caller's memory with `row` elements from token to token.
  CudnnTensor of_queries(AttentionTensor name, std::int64_t row) {
    return tokens(name, CUDNN_DATA_BFLOAT16, shape_.heads, queries(), row);
  }
  /// Adds tensor `name` with one row for each key, bf16 [sequences, kv_heads, length, head_dim], in
  /// the caller's memory with qkv_row elements from token to token.
  CudnnTensor of_keys(AttentionTensor name) {
    return tokens(name, CUDNN_DATA_BFLOAT16, shape_.kv_heads, shape_.length, shape_.qkv_row);
  }
  CudnnTensor key_gradient(AttentionTensor name, KeyGradients gradients) {
    if (gradients == KeyGradients::whole) return of_keys(name);
    return tokens(name, CUDNN_DATA_BFLOAT16, shape_.kv_heads, shape_.length, shape_.head_dim);
  }
  /// Adds keys or values as their transpose, [sequences, kv_heads, head_dim, length], in the same
  /// memory of the caller, with `row` elements from token to token.
  CudnnTensor transposed(AttentionTensor name, std::int64_t row);
  CudnnTensor per_query(AttentionTensor name) {
    return graph.tensor(static_cast<std::int64_t>(name), CUDNN_DATA_FLOAT, query_sizes(),
                        {shape_.heads * queries(), queries(), 1, 1});
  }
  [[nodiscard]] std::int64_t queries() const { return shape_.queries.value_or(shape_.length); }
  [[nodiscard]] CudnnGraph::Sizes query_sizes() const {
    return {shape_.sequences, shape_.heads, queries(), 1};
  }
  [[nodiscard]] CudnnGraph::Sizes score_sizes() const {
    return {shape_.sequences, shape_.heads, queries(), shape_.length};
  }
  [[nodiscard]] CudnnGraph::Sizes head_sizes() const {
    return {shape_.sequences, shape_.heads, queries(), shape_.head_dim};
  }
  CudnnTensor scores(cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    return graph.within(type, score_sizes());
  }

  /// Apply the element-wise operation `mode` to scores x, or to scores x and b; return the result.
  CudnnTensor score(cudnnPointwiseMode_t mode, CudnnTensor x) {
    const CudnnTensor out = scores();
    graph.pointwise(mode, x, out);
    return out;
  }
  CudnnTensor score(cudnnPointwiseMode_t mode, CudnnTensor x, CudnnTensor b) {
    const CudnnTensor out = scores();
    graph.pointwise(mode, x, b, out);
    return out;
  }

  /// Sets scores to minus infinity where the query must not see the key: if the key comes after the
  /// query, before the query's window, or before the query's document.
  CudnnTensor mask(CudnnTensor x);

  /// Transpose of the scores x, keys by queries, as bf16, for a product that sums over queries.
  CudnnTensor transpose(CudnnTensor x);

  /// out = a^T b for each head of queries, summed over the heads that share a head of keys.
  void gradient_of_keys(CudnnTensor a, CudnnTensor b, CudnnTensor out);

  CudnnGraph graph;

 private:
  CudnnTensor tokens(AttentionTensor name, cudnnDataType_t type, std::int64_t heads,
                     std::int64_t count, std::int64_t row);

  /// Position of each query in its sequence, where keys are counted; differs from the query's index
  /// only if the shape has fewer queries than keys.
  CudnnTensor position(CudnnTensor query);
  CudnnTensor int_scalar(AttentionTensor name) {
    return graph.scalar(static_cast<std::int64_t>(name), CUDNN_DATA_INT32);
  }

  /// The scores x where query >= key or, given a window, where key + window > query; minus infinity
  /// elsewhere.
  CudnnTensor keep(CudnnTensor x, CudnnTensor minus_infinity, std::optional<CudnnTensor> window);

  /// The scores x where the key's index is at least that of the first token of the query's
  /// document; minus infinity elsewhere.
  CudnnTensor keep_document(CudnnTensor x, CudnnTensor minus_infinity);

  AttentionShape shape_;
};

}  // namespace sluice::engine
