#include "engine/cuda/attention/attention_graph.hpp"

#include <string>

#include "engine/cuda/attention/attention_composer.hpp"

namespace sluice::engine {
namespace {

using Mode = PointwiseMode_t;

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
  AttentionComposer graph(shape, describe("forward", shape));
  const CudnnTensor q = graph.read(graph.of_queries(AttentionTensor::q, shape.qkv_row));
  const CudnnTensor k = graph.read(graph.transposed(AttentionTensor::k, shape.qkv_row));
  const CudnnTensor v = graph.read(graph.of_keys(AttentionTensor::v));

  const CudnnTensor products = graph.matmul(q, k);
  const CudnnTensor scores =
      graph.mask(graph.apply(Mode::MUL, products, graph.scalar(AttentionTensor::scale)));

  const CudnnTensor most = graph.reduce(ReductionMode_t::MAX, scores);
  const CudnnTensor exponents = graph.apply(Mode::EXP, graph.apply(Mode::SUB, scores, most));
  const CudnnTensor sum = graph.reduce(ReductionMode_t::ADD, exponents);
  graph.write(graph.apply(Mode::ADD, most, graph.apply(Mode::LOG, sum)),
              graph.per_query(AttentionTensor::lse));
  const CudnnTensor weights = graph.apply(Mode::DIV, exponents, sum);
  weights->set_data_type(DataType_t::BFLOAT16);
  graph.write(graph.matmul(weights, v), graph.of_queries(AttentionTensor::out, shape.out_row));
  return graph.build(cudnn);
}

CudnnPlan attention_backward_plan(const Cudnn& cudnn, const AttentionShape& shape,
                                  GradientOrder order, KeyGradients gradients, KeyRows rows) {
  const std::int64_t key_row = rows == KeyRows::packed ? shape.head_dim : shape.qkv_row;
  AttentionComposer graph(shape, describe("backward", shape));
  const CudnnTensor q = graph.read(graph.of_queries(AttentionTensor::q, shape.qkv_row));
  const CudnnTensor k = graph.read(graph.transposed(AttentionTensor::k, key_row));
  const CudnnTensor v = graph.read(graph.transposed(AttentionTensor::v, shape.qkv_row));
  const CudnnTensor out = graph.read(graph.of_queries(AttentionTensor::out, shape.out_row));
  const CudnnTensor d_out = graph.read(graph.of_queries(AttentionTensor::d_out, shape.out_row));
  const CudnnTensor lse = graph.read(graph.per_query(AttentionTensor::lse));
  const CudnnTensor scale = graph.scalar(AttentionTensor::scale);

  // The sum of d_out * out, which is subtracted from every weight's gradient.
  const CudnnTensor unscaled_sum = graph.dot(d_out, out);
  const CudnnTensor out_sum =
      graph.write(graph.apply(Mode::MUL, unscaled_sum, graph.scalar(AttentionTensor::one)),
                  graph.per_query(AttentionTensor::out_sum));

  // Recompute the weights, then d_v = weights^T d_out.
  const CudnnTensor scaled = graph.apply(Mode::MUL, graph.matmul(q, k), scale);
  const CudnnTensor weights =
      graph.apply(Mode::EXP, graph.mask(graph.apply(Mode::SUB, scaled, lse)));
  graph.gradient_of_keys(weights, d_out, graph.key_gradient(AttentionTensor::d_v, gradients));

  // d_scores = scale * weights * (d_out v^T - out_sum), then d_k = d_scores^T q.
  const CudnnTensor d_weights = graph.apply(Mode::SUB, graph.matmul(d_out, v), out_sum);
  const CudnnTensor d_scores =
      graph.apply(Mode::MUL, graph.apply(Mode::MUL, d_weights, weights), scale);
  graph.gradient_of_keys(d_scores, q, graph.key_gradient(AttentionTensor::d_k, gradients));

  // d_q = d_scores k.
  const CudnnTensor d_q = graph.matmul(d_scores, graph.keys_of(k, key_row));
  const CudnnLayout place = graph.of_queries(AttentionTensor::d_q, shape.qkv_row);
  if (order == GradientOrder::fixed) {
    graph.write(d_q, place);
  } else {
    graph.write(graph.apply(Mode::IDENTITY, graph.write(d_q, graph.d_q_sum())), place);
  }
  return graph.build(cudnn);
}

}  // namespace sluice::engine
