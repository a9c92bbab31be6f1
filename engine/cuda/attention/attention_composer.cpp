#include "engine/cuda/attention/attention_composer.hpp"

namespace sluice::engine {

CudnnTensor AttentionComposer::mask(CudnnTensor x) {
  const CudnnTensor minus_infinity = scalar(AttentionTensor::masked);
  x = keep(x, minus_infinity, std::nullopt);
  if (shape_.window) x = keep(x, minus_infinity, scalar(AttentionTensor::window));
  if (shape_.documents) x = keep_document(x, minus_infinity);
  return x;
}

CudnnTensor AttentionComposer::transpose(CudnnTensor x) {
  const std::int64_t keys = shape_.length;
  const CudnnTensor out =
      graph.within(CUDNN_DATA_BFLOAT16, {shape_.sequences, shape_.heads, keys, queries()},
                   {shape_.heads * queries() * keys, queries() * keys, 1, keys});
  graph.reshape(x, out);
  return out;
}

void AttentionComposer::gradient_of_keys(CudnnTensor a, CudnnTensor b, CudnnTensor out) {
  if (shape_.heads == shape_.kv_heads) {
    graph.matmul(transpose(a), b, out);
    return;
  }
  const CudnnTensor transposed_a = transpose(a);
  const CudnnTensor each = graph.within(
      CUDNN_DATA_BFLOAT16, {shape_.sequences, shape_.heads, shape_.length, shape_.head_dim});
  graph.matmul(transposed_a, b, each);
  graph.reduce(CUDNN_REDUCE_TENSOR_ADD, each, out);
}

CudnnTensor AttentionComposer::tokens(AttentionTensor name, cudnnDataType_t type,
                                      std::int64_t heads, std::int64_t count, std::int64_t row) {
  return graph.tensor(static_cast<std::int64_t>(name), type,
                      {shape_.sequences, heads, count, shape_.head_dim},
                      {count * row, shape_.head_dim, row, 1});
}

CudnnTensor AttentionComposer::position(CudnnTensor query) {
  if (!shape_.queries) return query;
  const CudnnTensor after_keys = scores(CUDNN_DATA_INT32);
  graph.pointwise(CUDNN_POINTWISE_ADD, query, int_scalar(AttentionTensor::keys), after_keys,
                  CUDNN_DATA_INT32);
  const CudnnTensor among_keys = scores(CUDNN_DATA_INT32);
  graph.pointwise(CUDNN_POINTWISE_SUB, after_keys, int_scalar(AttentionTensor::queries), among_keys,
                  CUDNN_DATA_INT32);
  return among_keys;
}

CudnnTensor AttentionComposer::keep(CudnnTensor x, CudnnTensor minus_infinity,
                                    std::optional<CudnnTensor> window) {
  const CudnnTensor query = scores(CUDNN_DATA_INT32);
  const CudnnTensor key = scores(CUDNN_DATA_INT32);
  const CudnnTensor visible = scores(CUDNN_DATA_BOOLEAN);
  graph.index(x, 2, query);
  graph.index(x, 3, key);
  if (window) {
    graph.pointwise(CUDNN_POINTWISE_CMP_GT, score(CUDNN_POINTWISE_ADD, key, *window), query,
                    visible, CUDNN_DATA_BOOLEAN);
  } else {
    graph.pointwise(CUDNN_POINTWISE_CMP_GE, position(query), key, visible, CUDNN_DATA_BOOLEAN);
  }
  const CudnnTensor out = scores();
  graph.select(x, minus_infinity, visible, out);
  return out;
}

CudnnTensor AttentionComposer::keep_document(CudnnTensor x, CudnnTensor minus_infinity) {
  // A run covers several sequences only if it covers all their queries.
  const CudnnTensor starts =
      graph.tensor(static_cast<std::int64_t>(AttentionTensor::starts), CUDNN_DATA_INT32,
                   {shape_.sequences, 1, queries(), 1}, {queries(), queries(), 1, 1});
  const CudnnTensor key = scores(CUDNN_DATA_INT32);
  const CudnnTensor visible = scores(CUDNN_DATA_BOOLEAN);
  graph.index(x, 3, key);
  graph.pointwise(CUDNN_POINTWISE_CMP_GE, key, starts, visible, CUDNN_DATA_BOOLEAN);
  const CudnnTensor out = scores();
  graph.select(x, minus_infinity, visible, out);
  return out;
}

CudnnTensor AttentionComposer::transposed(AttentionTensor name, std::int64_t row) {
  return graph.tensor(static_cast<std::int64_t>(name), CUDNN_DATA_BFLOAT16,
                      {shape_.sequences, shape_.kv_heads, shape_.head_dim, shape_.length},
                      {shape_.length * row, shape_.head_dim, 1, row});
}

}  // namespace sluice::engine
