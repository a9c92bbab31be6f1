#include "engine/cuda/attention/cudnn_graph.hpp"

namespace sluice::engine {
namespace {

/// cuDNN's attention kernels load and store 16 bytes at a time.
constexpr std::int64_t kAlignment = 16;
constexpr CudnnGraph::Sizes kOne = {1, 1, 1, 1};

}  // namespace

CudnnTensor CudnnGraph::add_tensor(std::int64_t id, cudnnDataType_t type, const Sizes& sizes,
                                   const Sizes& strides, Place place) {
  const std::string what = what_ + ": a tensor";
  CudnnDescriptor tensor(cudnn_, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(cudnn_, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type, what);
  tensor.set(cudnn_, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, sizes.data(), what);
  tensor.set(cudnn_, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides.data(), what);
  tensor.set(cudnn_, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id, what);
  tensor.set(cudnn_, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &kAlignment, what);
  const bool holds = true;
  if (place == Place::kernel) {
    tensor.set(cudnn_, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &holds, what);
  }
  if (place == Place::host_scalar) {
    tensor.set(cudnn_, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &holds, what);
  }
  tensor.finalize(cudnn_, what);
  tensors_.push_back(std::move(tensor));
  return {tensors_.back().get(), sizes};
}

CudnnTensor CudnnGraph::tensor(std::int64_t id, cudnnDataType_t type, const Sizes& sizes,
                               const Sizes& strides) {
  return add_tensor(id, type, sizes, strides, Place::memory);
}

CudnnTensor CudnnGraph::scalar(std::int64_t id, cudnnDataType_t type) {
  return add_tensor(id, type, kOne, kOne, Place::host_scalar);
}

CudnnTensor CudnnGraph::within(cudnnDataType_t type, const Sizes& sizes, const Sizes& strides) {
  return add_tensor(next_id_++, type, sizes, strides, Place::kernel);
}

CudnnTensor CudnnGraph::within(cudnnDataType_t type, const Sizes& sizes) {
  return within(type, sizes, {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1});
}

void CudnnGraph::matmul(CudnnTensor a, CudnnTensor b, CudnnTensor out) {
  const std::string what = what_ + ": a product";
  const cudnnDataType_t math = CUDNN_DATA_FLOAT;
  CudnnDescriptor description(cudnn_, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  description.set(cudnn_, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &math, what);
  description.finalize(cudnn_, what);

  CudnnDescriptor operation(cudnn_, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  operation.set(cudnn_, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a.descriptor, what);
  operation.set(cudnn_, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b.descriptor, what);
  operation.set(cudnn_, CUDNN_ATTR_OPERATION_MATMUL_CDESC, out.descriptor, what);
  operation.set(cudnn_, CUDNN_ATTR_OPERATION_MATMUL_DESC, description.get(), what);
  operation.finalize(cudnn_, what);
  descriptions_.push_back(std::move(description));
  operations_.push_back(std::move(operation));
}

CudnnDescriptor CudnnGraph::pointwise_description(cudnnPointwiseMode_t mode, cudnnDataType_t math) {
  const std::string what = what_ + ": pointwise mode " + std::to_string(mode);
  CudnnDescriptor description(cudnn_, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  description.set(cudnn_, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode, what);
  description.set(cudnn_, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &math, what);
  return description;
}

void CudnnGraph::add_pointwise(CudnnDescriptor description, CudnnTensor x,
                               std::optional<CudnnTensor> b, std::optional<CudnnTensor> t,
                               CudnnTensor out) {
  const std::string what = what_ + ": a pointwise operation";
  description.finalize(cudnn_, what);
  CudnnDescriptor operation(cudnn_, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(cudnn_, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, description.get(), what);
  operation.set(cudnn_, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x.descriptor, what);
  if (b) operation.set(cudnn_, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b->descriptor, what);
  if (t) operation.set(cudnn_, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, t->descriptor, what);
  operation.set(cudnn_, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, out.descriptor, what);
  operation.finalize(cudnn_, what);
  descriptions_.push_back(std::move(description));
  operations_.push_back(std::move(operation));
}

void CudnnGraph::pointwise(cudnnPointwiseMode_t mode, CudnnTensor x, CudnnTensor out,
                           cudnnDataType_t math) {
  add_pointwise(pointwise_description(mode, math), x, std::nullopt, std::nullopt, out);
}

void CudnnGraph::pointwise(cudnnPointwiseMode_t mode, CudnnTensor x, CudnnTensor b, CudnnTensor out,
                           cudnnDataType_t math) {
  add_pointwise(pointwise_description(mode, math), x, b, std::nullopt, out);
}

// The library's names and order. NOLINTNEXTLINE(bugprone-easily-swappable-parameters)
void CudnnGraph::select(CudnnTensor x, CudnnTensor b, CudnnTensor t, CudnnTensor out) {
  add_pointwise(pointwise_description(CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT), x, b, t,
                out);
}

void CudnnGraph::index(CudnnTensor like, std::int64_t axis, CudnnTensor out) {
  CudnnDescriptor description = pointwise_description(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_FLOAT);
  description.set(cudnn_, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &axis,
                  what_ + ": an index");
  add_pointwise(std::move(description), like, std::nullopt, std::nullopt, out);
}

void CudnnGraph::reduce(cudnnReduceTensorOp_t mode, CudnnTensor x, CudnnTensor out) {
  const std::string what = what_ + ": a reduction";
  const cudnnDataType_t math = CUDNN_DATA_FLOAT;
  CudnnDescriptor description(cudnn_, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  description.set(cudnn_, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &math, what);
  description.set(cudnn_, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1,
                  &mode, what);
  description.finalize(cudnn_, what);

  CudnnDescriptor operation(cudnn_, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  operation.set(cudnn_, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x.descriptor, what);
  operation.set(cudnn_, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, out.descriptor, what);
  operation.set(cudnn_, CUDNN_ATTR_OPERATION_REDUCTION_DESC, description.get(), what);
  operation.finalize(cudnn_, what);
  descriptions_.push_back(std::move(description));
  operations_.push_back(std::move(operation));
}

void CudnnGraph::reshape(CudnnTensor x, CudnnTensor out) {
  const std::string what = what_ + ": a transpose";
  CudnnDescriptor operation(cudnn_, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  operation.set(cudnn_, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x.descriptor, what);
  operation.set(cudnn_, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, out.descriptor, what);
  operation.finalize(cudnn_, what);
  operations_.push_back(std::move(operation));
}

}  // namespace sluice::engine
