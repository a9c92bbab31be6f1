// Matrix products of a linear layer through cuBLASLt: bf16 operands, fp32 accumulation.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>

#include "planner/cuda_workspace.hpp"

namespace sluice::engine {

using planner::kGemmWorkspace;

/// The three products of y = x W^T (+ bias) with x [T, in], W [out, in], y [T, out], row-major
/// bf16. An algorithm is chosen once for each product (the library's first suggestion, which is the
/// same every time for one GPU and library) and kept, so that bits repeat. One object for one
/// stream at a time; products of a new size allocate host memory once. All pointers are device
/// memory and must stay valid until the stream has passed the call.
class CudaGemm {
 public:
  CudaGemm();  ///< Throws EnvironmentError where cuBLASLt cannot start.
  ~CudaGemm();
  CudaGemm(const CudaGemm&) = delete;  // Owns the library's handle.
  CudaGemm& operator=(const CudaGemm&) = delete;

  struct Size {
    std::int64_t tokens, in, out;
  };
  /// y = x W^T + bias + addend; `bias` [out] and `addend` [T, out] may be null. `addend` may be y.
  void forward(cudaStream_t stream, Size size, const void* x, const void* weight, const void* bias,
               const void* addend, void* y, void* workspace);
  /// d_x [T, in] = d_y W.
  void input_gradient(cudaStream_t stream, Size size, const void* d_y, const void* weight,
                      void* d_x, void* workspace);
  /// d_weight [out, in] fp32 = (first ? 0 : d_weight) + d_y^T x.
  void weight_gradient(cudaStream_t stream, Size size, const void* d_y, const void* x,
                       float* d_weight, bool first, void* workspace);

  /// Version of the library, part of the numerics id.
  [[nodiscard]] static std::size_t library_version();

 private:
  enum class Product { forward, input_gradient, weight_gradient };
  struct Plan;
  using Key = std::tuple<Product, std::int64_t, std::int64_t, std::int64_t, bool, bool>;

  Plan& plan_for(Product product, Size size, bool bias, bool adds);

  struct Handle;
  std::unique_ptr<Handle> handle_;
  std::map<Key, std::unique_ptr<Plan>> plans_;
};

}  // namespace sluice::engine
