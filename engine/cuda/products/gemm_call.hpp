// One matrix product in cuBLASLt's terms: description, layouts, and the algorithms that the library
// suggests.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/cuda/products/gemm_choice.hpp"
#include "engine/cuda/products/gemm_product.hpp"
#include "engine/cuda/products/gemm_table.hpp"
#include "planner/scratch/cuda_workspace.hpp"

namespace sluice::engine {

using planner::kGemmWorkspace;

/// Largest number of algorithms that cuBLASLt is asked to suggest for a product.
inline constexpr int kGemmSuggestions = 24;

/// Throws EnvironmentError naming `what` unless `status` is success.
void check_blas(cublasStatus_t status, const std::string& what);

class BlasHandle {
 public:
  BlasHandle();  ///< Throws EnvironmentError if cuBLASLt cannot start.
  ~BlasHandle();
  BlasHandle(const BlasHandle&) = delete;  // Owns the handle.
  BlasHandle& operator=(const BlasHandle&) = delete;
  [[nodiscard]] cublasLtHandle_t get() const { return value_; }

 private:
  cublasLtHandle_t value_ = nullptr;
};

/// Device addresses of the matrices of one product D = op(A) op(B) (+ bias) (+ addend) (see
/// GemmCall). `addend` may be `d`.
struct GemmOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* bias = nullptr;    ///< Bias [out]; null unless GemmKey::bias is set.
  const void* addend = nullptr;  ///< Matrix that is added; null unless GemmKey::adds is set.
  /// Scales of A and B, fp32; null unless GemmKey::fp8 is set.
  const float* a_scales = nullptr;
  const float* b_scales = nullptr;
  void* d = nullptr;
  float factor = 1;         ///< Factor of the product.
  float addend_factor = 1;  ///< Factor of the addend.
};

/// One matrix product as cuBLASLt sees it: D [m, n] = op(A) op(B) (+ bias) (+ addend),
/// column-major, so that row-major matrices appear transposed. An object serves one stream at a
/// time.
class GemmCall {
 public:
  explicit GemmCall(const GemmKey& key);

  /// Algorithms that cuBLASLt suggests for the product, without those that are not `admissible`,
  /// its favourite first; always the same for one GPU and library. Throws EnvironmentError if there
  /// is none.
  [[nodiscard]] std::vector<GemmAlgorithm> suggestions(const BlasHandle& handle) const;

  /// Enqueues the product; its memory must stay valid until the stream has passed. `workspace` has
  /// kGemmWorkspace bytes.
  [[nodiscard]] cublasStatus_t enqueue(const BlasHandle& handle, cudaStream_t stream,
                                       const GemmAlgorithm& algorithm, const GemmOperands& operands,
                                       void* workspace) const;

 private:
  template <auto destroy>
  struct Destroy {
    template <class T>
    void operator()(T* object) const {
      destroy(object);
    }
  };
  using Layout = std::unique_ptr<std::remove_pointer_t<cublasLtMatrixLayout_t>,
                                 Destroy<cublasLtMatrixLayoutDestroy>>;
  using Description = std::unique_ptr<std::remove_pointer_t<cublasLtMatmulDesc_t>,
                                      Destroy<cublasLtMatmulDescDestroy>>;
  using Preference = std::unique_ptr<std::remove_pointer_t<cublasLtMatmulPreference_t>,
                                     Destroy<cublasLtMatmulPreferenceDestroy>>;

  void describe_fp8();
  static Layout make_layout(cudaDataType_t type, std::int64_t rows, std::int64_t cols);
  static Preference make_preference();

  GemmKey key_;
  Description description_;
  Layout a_, b_, d_;
};

/// Settings of `algorithm` as far as cuBLASLt reveals them; others have GemmConfiguration's
/// defaults.
[[nodiscard]] GemmConfiguration configuration_of(const GemmAlgorithm& algorithm);

}  // namespace sluice::engine
