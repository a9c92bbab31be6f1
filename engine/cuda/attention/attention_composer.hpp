// The tensors of attention's operation graphs, by their layout, and what several of these graphs
// do.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "engine/cuda/attention/attention_graph.hpp"
#include "engine/cuda/attention/cudnn_graph.hpp"

namespace sluice::engine {

/// A graph with the tensors of one attention shape. The library recognises these graphs by their
/// form: the order of the operations, and of the arguments, is its own.
class AttentionComposer {
 public:
  AttentionComposer(const Cudnn& cudnn, const AttentionShape& shape, std::string what)
      : graph(cudnn, std::move(what)), shape_(shape) {}

  CudnnTensor scalar(AttentionTensor name) {
    return graph.scalar(static_cast<std::int64_t>(name), CUDNN_DATA_FLOAT);
  }
  /// bf16 [sequences, heads, queries, head_dim], tokens `row` elements apart.
  CudnnTensor of_queries(AttentionTensor name, std::int64_t row) {
    return tokens(name, CUDNN_DATA_BFLOAT16, shape_.heads, queries(), row);
  }
  /// Values [sequences, kv_heads, length, head_dim].
  CudnnTensor of_keys(AttentionTensor name) {
    return tokens(name, CUDNN_DATA_BFLOAT16, shape_.kv_heads, shape_.length, shape_.qkv_row);
  }
  CudnnTensor key_gradient(AttentionTensor name, KeyGradients gradients) {
    if (gradients == KeyGradients::whole) return of_keys(name);
    return tokens(name, CUDNN_DATA_BFLOAT16, shape_.kv_heads, shape_.length, shape_.head_dim);
  }
  /// Keys or values [sequences, kv_heads, head_dim, length]: the transpose, in the same memory,
  /// tokens `row` elements apart.
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

  /// `mode`(x) or `mode`(x, b), of scores.
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

  /// Scores whose key comes after their query, or before its window, become minus infinity.
  CudnnTensor mask(CudnnTensor x);

  /// x^T as bf16, for a product over queries.
  CudnnTensor transpose(CudnnTensor x);

  /// out = a^T b per head of queries, added up over each group where heads share keys.
  void gradient_of_keys(CudnnTensor a, CudnnTensor b, CudnnTensor out);

  CudnnGraph graph;

 private:
  CudnnTensor tokens(AttentionTensor name, cudnnDataType_t type, std::int64_t heads,
                     std::int64_t count, std::int64_t row);

  /// Index of a query among the keys: its own, where it is not one of the last.
  CudnnTensor position(CudnnTensor query);
  CudnnTensor int_scalar(AttentionTensor name) {
    return graph.scalar(static_cast<std::int64_t>(name), CUDNN_DATA_INT32);
  }

  /// x where query >= key, or, given a window, where key + window > query.
  CudnnTensor keep(CudnnTensor x, CudnnTensor minus_infinity, std::optional<CudnnTensor> window);

  /// x where the key's index is at least that of the first token of the query's document.
  CudnnTensor keep_document(CudnnTensor x, CudnnTensor minus_infinity);

  AttentionShape shape_;
};

}  // namespace sluice::engine
