#include "engine/cuda/attention/attention_composer.hpp"

#include <vector>

namespace sluice::engine {
namespace {

namespace graph = cudnn_frontend::graph;

std::vector<std::int64_t> values(const AttentionComposer::Sizes& sizes) {
  return {sizes.begin(), sizes.end()};
}

}  // namespace

AttentionComposer::AttentionComposer(const AttentionShape& shape, std::string what)
    : shape_(shape), what_(std::move(what)), graph_(std::make_shared<graph::Graph>()) {
  graph_->set_intermediate_data_type(DataType_t::FLOAT).set_compute_data_type(DataType_t::FLOAT);
}

CudnnLayout AttentionComposer::layout(AttentionTensor name, DataType_t type, const Sizes& sizes,
                                      const Sizes& strides) {
  return CudnnLayout()
      .set_uid(static_cast<std::int64_t>(name))
      .set_data_type(type)
      .set_dim(values(sizes))
      .set_stride(values(strides));
}

CudnnLayout AttentionComposer::tokens(AttentionTensor name, std::int64_t heads, std::int64_t count,
                                      std::int64_t row) const {
  return layout(name, DataType_t::BFLOAT16, {shape_.sequences, heads, count, shape_.head_dim},
                {count * row, shape_.head_dim, row, 1});
}

CudnnLayout AttentionComposer::transposed(AttentionTensor name, std::int64_t row) const {
  return layout(name, DataType_t::BFLOAT16,
                {shape_.sequences, shape_.kv_heads, shape_.head_dim, shape_.length},
                {shape_.length * row, shape_.head_dim, 1, row});
}

CudnnTensor AttentionComposer::scalar(AttentionTensor name, DataType_t type) {
  constexpr Sizes kOne = {1, 1, 1, 1};
  return graph_->tensor(layout(name, type, kOne, kOne).set_is_pass_by_value(true));
}

CudnnTensor AttentionComposer::matmul(CudnnTensor a, CudnnTensor b) {
  return graph_->matmul(std::move(a), std::move(b), graph::Matmul_attributes());
}

CudnnTensor AttentionComposer::apply(PointwiseMode_t mode, CudnnTensor x) {
  return graph_->pointwise(std::move(x), graph::Pointwise_attributes().set_mode(mode));
}

CudnnTensor AttentionComposer::apply(PointwiseMode_t mode, CudnnTensor x, CudnnTensor b,
                                     DataType_t math) {
  CudnnTensor out =
      graph_->pointwise(std::move(x), std::move(b),
                        graph::Pointwise_attributes().set_mode(mode).set_compute_data_type(math));
  out->set_data_type(math);
  return out;
}

CudnnTensor AttentionComposer::reduce(ReductionMode_t mode, CudnnTensor x) {
  CudnnTensor out = graph_->reduction(std::move(x), graph::Reduction_attributes().set_mode(mode));
  out->set_dim(values(query_sizes())).set_stride(values(packed(query_sizes())));
  return out;
}

CudnnTensor AttentionComposer::dot(CudnnTensor d_out, CudnnTensor out) {
  CudnnTensor product = apply(PointwiseMode_t::MUL, std::move(d_out), std::move(out));
  product->set_dim(values(head_sizes())).set_stride(values(packed(head_sizes())));
  return reduce(ReductionMode_t::ADD, product);
}

CudnnTensor AttentionComposer::view(CudnnTensor x, const Sizes& sizes, const Sizes& strides) {
  CudnnTensor out = graph_->reshape(std::move(x), graph::Reshape_attributes());
  out->set_data_type(DataType_t::BFLOAT16).set_dim(values(sizes)).set_stride(values(strides));
  return out;
}

CudnnTensor AttentionComposer::keys_of(CudnnTensor k, std::int64_t row) {
  return view(std::move(k), {shape_.sequences, shape_.kv_heads, shape_.length, shape_.head_dim},
              {shape_.length * row, shape_.head_dim, row, 1});
}

CudnnTensor AttentionComposer::index(CudnnTensor scores, std::int64_t axis) {
  CudnnTensor out = graph_->pointwise(
      std::move(scores),
      graph::Pointwise_attributes().set_mode(PointwiseMode_t::GEN_INDEX).set_axis(axis));
  out->set_data_type(DataType_t::INT32);
  return out;
}

CudnnTensor AttentionComposer::position(CudnnTensor query) {
  if (!shape_.queries) return query;
  const CudnnTensor after_keys =
      apply(PointwiseMode_t::ADD, std::move(query),
            scalar(AttentionTensor::keys, DataType_t::INT32), DataType_t::INT32);
  return apply(PointwiseMode_t::SUB, after_keys,
               scalar(AttentionTensor::queries, DataType_t::INT32), DataType_t::INT32);
}

CudnnTensor AttentionComposer::keep(CudnnTensor x, PointwiseMode_t mode, CudnnTensor left,
                                    CudnnTensor right) {
  const CudnnTensor visible = apply(mode, std::move(left), std::move(right), DataType_t::BOOLEAN);
  return graph_->pointwise(std::move(x), minus_infinity_, visible,
                           graph::Pointwise_attributes().set_mode(PointwiseMode_t::BINARY_SELECT));
}

CudnnTensor AttentionComposer::mask(CudnnTensor x) {
  minus_infinity_ = scalar(AttentionTensor::masked);
  const CudnnTensor query = index(x, 2);
  const CudnnTensor key = index(x, 3);
  x = keep(x, PointwiseMode_t::CMP_GE, position(query), key);
  if (shape_.window) {
    const CudnnTensor among = index(x, 2);
    const CudnnTensor reach =
        apply(PointwiseMode_t::ADD, index(x, 3), scalar(AttentionTensor::window));
    x = keep(x, PointwiseMode_t::CMP_GT, reach, among);
  }
  if (shape_.documents) {
    const CudnnTensor seen = index(x, 3);
    // A run covers several sequences only if it covers all their queries.
    const CudnnTensor starts =
        read(layout(AttentionTensor::starts, DataType_t::INT32, {shape_.sequences, 1, queries(), 1},
                    {queries(), queries(), 1, 1}));
    x = keep(x, PointwiseMode_t::CMP_GE, seen, starts);
  }
  return x;
}

void AttentionComposer::gradient_of_keys(CudnnTensor a, CudnnTensor b, const CudnnLayout& place) {
  const std::int64_t area = queries() * shape_.length;
  const CudnnTensor turned =
      view(std::move(a), {shape_.sequences, shape_.heads, shape_.length, queries()},
           {shape_.heads * area, area, 1, shape_.length});
  const CudnnTensor each = matmul(turned, std::move(b));
  if (shape_.heads == shape_.kv_heads) {
    write(each, place);
    return;
  }
  each->set_data_type(DataType_t::BFLOAT16);
  write(graph_->reduction(each, graph::Reduction_attributes().set_mode(ReductionMode_t::ADD)),
        place);
}

}  // namespace sluice::engine
