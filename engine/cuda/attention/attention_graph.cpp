#include "engine/cuda/attention/attention_graph.hpp"

#include <string>

#include "engine/cuda/attention/attention_composer.hpp"

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

}  // namespace

CudnnPlan attention_forward_plan(const Cudnn& cudnn, const AttentionShape& shape) {
  AttentionComposer composer(cudnn, shape, describe("forward", shape));
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
  AttentionComposer composer(cudnn, shape, describe("backward", shape));
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

  // The sum of d_out * out, which is subtracted from every weight's gradient.
  const CudnnTensor d_out_out = graph.within(kFp32, composer.head_sizes());
  graph.pointwise(CUDNN_POINTWISE_MUL, d_out, out, d_out_out);
  const CudnnTensor unscaled_sum = graph.within(kFp32, composer.query_sizes());
  graph.reduce(CUDNN_REDUCE_TENSOR_ADD, d_out_out, unscaled_sum);
  const CudnnTensor out_sum = composer.per_query(AttentionTensor::out_sum);
  graph.pointwise(CUDNN_POINTWISE_MUL, unscaled_sum, composer.scalar(AttentionTensor::one),
                  out_sum);

  // Recompute the weights, then d_v = weights^T d_out.
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
