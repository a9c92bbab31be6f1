// Composer of cuDNN operation graphs: tensors, and the operations between them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/cuda/attention/cudnn.hpp"
#include "engine/cuda/attention/cudnn_plan.hpp"

namespace sluice::engine {

/// A tensor of a cuDNN operation graph, with its sizes [sequences, heads, rows, columns].
struct CudnnTensor {
  cudnnBackendDescriptor_t descriptor = nullptr;
  std::array<std::int64_t, 4> sizes{};
};

/// Composes a graph of cuDNN operations, which becomes one kernel. Tensors are [sequences, heads,
/// rows, columns].
class CudnnGraph {
 public:
  using Sizes = std::array<std::int64_t, 4>;
  CudnnGraph(const Cudnn& cudnn, std::string what) : cudnn_(cudnn), what_(std::move(what)) {}

  /// Adds a tensor in the caller's memory, whose address is bound to `id` when the plan is
  /// executed; `strides` are in elements.
  CudnnTensor tensor(std::int64_t id, cudnnDataType_t type, const Sizes& sizes,
                     const Sizes& strides);
  /// Adds a single value that CudnnPlan::execute reads from the host memory bound to `id`.
  CudnnTensor scalar(std::int64_t id, cudnnDataType_t type);
  /// Adds an intermediate tensor, which exists only inside the fused kernel; `strides` are in
  /// elements.
  CudnnTensor within(cudnnDataType_t type, const Sizes& sizes, const Sizes& strides);
  /// Adds an intermediate row-major tensor, which exists only inside the fused kernel.
  CudnnTensor within(cudnnDataType_t type, const Sizes& sizes);

  /// Adds the matrix product out = a b over the last two dimensions; where b has fewer heads than
  /// a, a group of a's heads shares each of b's.
  void matmul(CudnnTensor a, CudnnTensor b, CudnnTensor out);
  /// Add element-wise operations, computed in type `math`: out = `mode`(x) or `mode`(x, b); select:
  /// out = x where t is true, else b.
  void pointwise(cudnnPointwiseMode_t mode, CudnnTensor x, CudnnTensor out,
                 cudnnDataType_t math = CUDNN_DATA_FLOAT);
  void pointwise(cudnnPointwiseMode_t mode, CudnnTensor x, CudnnTensor b, CudnnTensor out,
                 cudnnDataType_t math = CUDNN_DATA_FLOAT);
  void select(CudnnTensor x, CudnnTensor b, CudnnTensor t, CudnnTensor out);
  /// out = the index of each element along dimension `axis`, for a tensor of the sizes of `like`.
  void index(CudnnTensor like, std::int64_t axis, CudnnTensor out);
  /// Reduces x by `mode`, such as a sum, along the dimensions in which out has fewer elements.
  void reduce(cudnnReduceTensorOp_t mode, CudnnTensor x, CudnnTensor out);
  /// out = the elements of x seen with the sizes and strides of out; used for transposes.
  void reshape(CudnnTensor x, CudnnTensor out);

  [[nodiscard]] CudnnPlan build() const { return {cudnn_, operations_, what_}; }

 private:
  enum class Place { memory, host_scalar, kernel };
  CudnnTensor add_tensor(std::int64_t id, cudnnDataType_t type, const Sizes& sizes,
                         const Sizes& strides, Place place);
  CudnnDescriptor pointwise_description(cudnnPointwiseMode_t mode, cudnnDataType_t math);
  void add_pointwise(CudnnDescriptor description, CudnnTensor x, std::optional<CudnnTensor> b,
                     std::optional<CudnnTensor> t, CudnnTensor out);

  const Cudnn& cudnn_;
  std::string what_;
  /// Id of the next tensor that exists only inside the kernel; callers' ids are smaller.
  std::int64_t next_id_ = 1000;
  std::vector<CudnnDescriptor> tensors_;
  std::vector<CudnnDescriptor> descriptions_;
  std::vector<CudnnDescriptor> operations_;
};

}  // namespace sluice::engine
