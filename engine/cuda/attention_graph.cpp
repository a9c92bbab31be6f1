#include "engine/cuda/attention_graph.hpp"

#include <string>

#include "engine/cuda/cudnn_graph.hpp"

namespace sluice::engine {
namespace {

using Sizes = CudnnGraph::Sizes;
constexpr cudnnDataType_t kBf16 = CUDNN_DATA_BFLOAT16;
constexpr cudnnDataType_t kFp32 = CUDNN_DATA_FLOAT;

std::string describe(const char* pass, const AttentionShape& shape) {
  return std::string("attention ") + pass + " of " + std::to_string(shape.sequences) +
         " sequences of " + std::to_string(shape.length) + ", " + std::to_string(shape.heads) +
         "/" + std::to_string(shape.kv_heads) + " heads of " + std::to_string(shape.head_dim) +
         (shape.queries ? ", last " + std::to_string(*shape.queries) + " queries" : "") +
         (shape.window ? ", window " + std::to_string(*shape.window) : "") +
         (shape.documents ? ", documents" : "");
}

/// The graph's tensors by their layout. The library recognises these graphs by their form: the
/// order of the operations, and of the arguments, is its own.
class Composer {
 public:
  Composer(const Cudnn& cudnn, const AttentionShape& shape, std::string what)
      : graph(cudnn, std::move(what)), shape_(shape) {}

  CudnnTensor scalar(AttentionTensor name) {
    return graph.scalar(static_cast<std::int64_t>(name), kFp32);
  }
  /// bf16 [sequences, heads, queries, head_dim], tokens `row` elements apart.
  CudnnTensor of_queries(AttentionTensor name, std::int64_t row) {
    return tokens(name, kBf16, shape_.heads, queries(), row);
  }
  /// Values [sequences, kv_heads, length, head_dim].
  CudnnTensor of_keys(AttentionTensor name) {
    return tokens(name, kBf16, shape_.kv_heads, shape_.length, shape_.qkv_row);
  }
  CudnnTensor key_gradient(AttentionTensor name, KeyGradients gradients) {
    if (gradients == KeyGradients::whole) return of_keys(name);
    return tokens(name, kBf16, shape_.kv_heads, shape_.length, shape_.head_dim);
  }
  /// Keys or values [sequences, kv_heads, head_dim, length]: the transpose, in the same memory,
  /// tokens `row` elements apart.
  CudnnTensor transposed(AttentionTensor name, std::int64_t row) {
    return graph.tensor(static_cast<std::int64_t>(name), kBf16,
                        {shape_.sequences, shape_.kv_heads, shape_.head_dim, shape_.length},
                        {shape_.length * row, shape_.head_dim, 1, row});
  }
  CudnnTensor per_query(AttentionTensor name) {
    return graph.tensor(static_cast<std::int64_t>(name), kFp32, query_sizes(),
                        {shape_.heads * queries(), queries(), 1, 1});
  }
  [[nodiscard]] std::int64_t queries() const { return shape_.queries.value_or(shape_.length); }
  [[nodiscard]] Sizes query_sizes() const { return {shape_.sequences, shape_.heads, queries(), 1}; }
  [[nodiscard]] Sizes score_sizes() const {
    return {shape_.sequences, shape_.heads, queries(), shape_.length};
  }
  [[nodiscard]] Sizes head_sizes() const {
    return {shape_.sequences, shape_.heads, queries(), shape_.head_dim};
  }
  CudnnTensor scores(cudnnDataType_t type = kFp32) { return graph.within(type, score_sizes()); }

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
  CudnnTensor mask(CudnnTensor x) {
    const CudnnTensor minus_infinity = scalar(AttentionTensor::masked);
    x = keep(x, minus_infinity, std::nullopt);
    if (shape_.window) x = keep(x, minus_infinity, scalar(AttentionTensor::window));
    if (shape_.documents) x = keep_document(x, minus_infinity);
    return x;
  }

  /// x^T as bf16, for a product over queries.
  CudnnTensor transpose(CudnnTensor x) {
    const std::int64_t keys = shape_.length;
    const CudnnTensor out =
        graph.within(kBf16, {shape_.sequences, shape_.heads, keys, queries()},
                     {shape_.heads * queries() * keys, queries() * keys, 1, keys});
    graph.reshape(x, out);
    return out;
  }

  /// out = a^T b per head of queries, added up over each group where heads share keys.
  void gradient_of_keys(CudnnTensor a, CudnnTensor b, CudnnTensor out) {
    if (shape_.heads == shape_.kv_heads) {
      graph.matmul(transpose(a), b, out);
      return;
    }
    const CudnnTensor transposed_a = transpose(a);
    const CudnnTensor each =
        graph.within(kBf16, {shape_.sequences, shape_.heads, shape_.length, shape_.head_dim});
    graph.matmul(transposed_a, b, each);
    graph.reduce(CUDNN_REDUCE_TENSOR_ADD, each, out);
  }

  CudnnGraph graph;

 private:
  CudnnTensor tokens(AttentionTensor name, cudnnDataType_t type, std::int64_t heads,
                     std::int64_t count, std::int64_t row) {
    return graph.tensor(static_cast<std::int64_t>(name), type,
                        {shape_.sequences, heads, count, shape_.head_dim},
                        {count * row, shape_.head_dim, row, 1});
  }

  /// Index of a query among the keys: its own, where it is not one of the last.
  CudnnTensor position(CudnnTensor query) {
    if (!shape_.queries) return query;
    const CudnnTensor after_keys = scores(CUDNN_DATA_INT32);
    graph.pointwise(CUDNN_POINTWISE_ADD, query, int_scalar(AttentionTensor::keys), after_keys,
                    CUDNN_DATA_INT32);
    const CudnnTensor among_keys = scores(CUDNN_DATA_INT32);
    graph.pointwise(CUDNN_POINTWISE_SUB, after_keys, int_scalar(AttentionTensor::queries),
                    among_keys, CUDNN_DATA_INT32);
    return among_keys;
  }
  CudnnTensor int_scalar(AttentionTensor name) {
    return graph.scalar(static_cast<std::int64_t>(name), CUDNN_DATA_INT32);
  }

  /// x where query >= key, or, given a window, where key + window > query.
  CudnnTensor keep(CudnnTensor x, CudnnTensor minus_infinity, std::optional<CudnnTensor> window) {
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

  /// x where the key's index is at least that of the first token of the query's document.
  CudnnTensor keep_document(CudnnTensor x, CudnnTensor minus_infinity) {
    // Several sequences are in a run only where all their queries are.
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

  AttentionShape shape_;
};

}  // namespace

CudnnPlan attention_forward_plan(const Cudnn& cudnn, const AttentionShape& shape) {
  Composer composer(cudnn, shape, describe("forward", shape));
  CudnnGraph& graph = composer.graph;
  const CudnnTensor q = composer.of_queries(AttentionTensor::q, shape.qkv_row);
  const CudnnTensor k = composer.transposed(AttentionTensor::k, shape.qkv_row);
  const CudnnTensor v = composer.of_keys(AttentionTensor::v);

  const CudnnTensor products = composer.scores();
  graph.matmul(q, k, products);
  const CudnnTensor scores = composer.mask(
      composer.score(CUDNN_POINTWISE_MUL, products, composer.scalar(AttentionTensor::scale)));

  const CudnnTensor most = graph.within(kFp32, composer.query_sizes());
  graph.reduce(CUDNN_REDUCE_TENSOR_MAX, scores, most);
  const CudnnTensor exponents =
      composer.score(CUDNN_POINTWISE_EXP, composer.score(CUDNN_POINTWISE_SUB, scores, most));
  const CudnnTensor sum = graph.within(kFp32, composer.query_sizes());
  graph.reduce(CUDNN_REDUCE_TENSOR_ADD, exponents, sum);
  const CudnnTensor log_sum = graph.within(kFp32, composer.query_sizes());
  graph.pointwise(CUDNN_POINTWISE_LOG, sum, log_sum);
  graph.pointwise(CUDNN_POINTWISE_ADD, most, log_sum, composer.per_query(AttentionTensor::lse));
  const CudnnTensor weights = composer.scores(kBf16);
  graph.pointwise(CUDNN_POINTWISE_DIV, exponents, sum, weights);
  graph.matmul(weights, v, composer.of_queries(AttentionTensor::out, shape.out_row));
  return graph.build();
}

CudnnPlan attention_backward_plan(const Cudnn& cudnn, const AttentionShape& shape,
                                  GradientOrder order, KeyGradients gradients, KeyRows rows) {
  const std::int64_t key_row = rows == KeyRows::packed ? shape.head_dim : shape.qkv_row;
  Composer composer(cudnn, shape, describe("backward", shape));
  CudnnGraph& graph = composer.graph;
  const CudnnTensor q = composer.of_queries(AttentionTensor::q, shape.qkv_row);
  const CudnnTensor k = composer.transposed(AttentionTensor::k, key_row);
  const CudnnTensor v = composer.transposed(AttentionTensor::v, shape.qkv_row);
  const CudnnTensor out = composer.of_queries(AttentionTensor::out, shape.out_row);
  const CudnnTensor d_out = composer.of_queries(AttentionTensor::d_out, shape.out_row);
  const CudnnTensor d_q = composer.of_queries(AttentionTensor::d_q, shape.qkv_row);
  const CudnnTensor d_k = composer.key_gradient(AttentionTensor::d_k, gradients);
  const CudnnTensor d_v = composer.key_gradient(AttentionTensor::d_v, gradients);
  const CudnnTensor scale = composer.scalar(AttentionTensor::scale);

  // The sum over d_out * out: what every weight's gradient is measured from.
  const CudnnTensor d_out_out = graph.within(kFp32, composer.head_sizes());
  graph.pointwise(CUDNN_POINTWISE_MUL, d_out, out, d_out_out);
  const CudnnTensor unscaled_sum = graph.within(kFp32, composer.query_sizes());
  graph.reduce(CUDNN_REDUCE_TENSOR_ADD, d_out_out, unscaled_sum);
  const CudnnTensor out_sum = composer.per_query(AttentionTensor::out_sum);
  graph.pointwise(CUDNN_POINTWISE_MUL, unscaled_sum, composer.scalar(AttentionTensor::one),
                  out_sum);

  // Weights again, then d_v = weights^T d_out.
  const CudnnTensor products = composer.scores();
  graph.matmul(q, k, products);
  const CudnnTensor scaled = composer.score(CUDNN_POINTWISE_MUL, products, scale);
  const CudnnTensor weights = composer.score(
      CUDNN_POINTWISE_EXP, composer.mask(composer.score(CUDNN_POINTWISE_SUB, scaled,
                                                        composer.per_query(AttentionTensor::lse))));
  composer.gradient_of_keys(weights, d_out, d_v);

  // d_scores = scale * weights * (d_out v^T - out_sum), then d_k = d_scores^T q.
  const CudnnTensor d_weights = composer.scores();
  graph.matmul(d_out, v, d_weights);
  const CudnnTensor d_scores = composer.score(
      CUDNN_POINTWISE_MUL,
      composer.score(CUDNN_POINTWISE_MUL, composer.score(CUDNN_POINTWISE_SUB, d_weights, out_sum),
                     weights),
      scale);
  composer.gradient_of_keys(d_scores, q, d_k);

  // d_q = d_scores k.
  const CudnnTensor keys =
      graph.within(kBf16, {shape.sequences, shape.kv_heads, shape.length, shape.head_dim},
                   {shape.length * key_row, shape.head_dim, key_row, 1});
  graph.reshape(k, keys);
  if (order == GradientOrder::fixed) {
    graph.matmul(d_scores, keys, d_q);
  } else {
    const Sizes sizes = composer.head_sizes();
    const CudnnTensor d_q_sum =
        graph.tensor(static_cast<std::int64_t>(AttentionTensor::d_q_sum), kFp32, sizes,
                     {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1});
    graph.matmul(d_scores, keys, d_q_sum);
    graph.pointwise(CUDNN_POINTWISE_IDENTITY, d_q_sum, d_q);
  }
  return graph.build();
}

}  // namespace sluice::engine
