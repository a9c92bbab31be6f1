#include "engine/cuda/gemm.hpp"

#include <cublasLt.h>

#include <string>
#include <type_traits>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

void check_blas(cublasStatus_t status, const std::string& what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw EnvironmentError("cuBLASLt: " + what + ": " + cublasLtGetStatusString(status));
}

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

/// Column-major [rows, cols] without padding: what cuBLAS sees of a row-major [cols, rows].
Layout make_layout(cudaDataType_t type, std::int64_t rows, std::int64_t cols) {
  cublasLtMatrixLayout_t layout = nullptr;
  check_blas(cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(rows),
                                        static_cast<std::uint64_t>(cols), rows),
             "a matrix layout");
  return Layout(layout);
}

template <class Value>
void set(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute, Value value) {
  check_blas(cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof value),
             "a product's attribute");
}

}  // namespace

struct CudaGemm::Handle {
  Handle() {
    check_blas(cublasLtCreate(&value), "no handle: is the driver older than the toolkit?");
  }
  ~Handle() { cublasLtDestroy(value); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  cublasLtHandle_t value = nullptr;
};

/// One product, column-major: D [m, n] = op(A) op(B) + beta C.
struct CudaGemm::Plan {
  Description description;
  Layout a, b, d;
  cublasLtMatmulAlgo_t algorithm;

  void run(cublasLtHandle_t handle, cudaStream_t stream, const void* left, const void* right,
           const void* addend, void* out, void* workspace) const {
    const float alpha = 1;
    const float beta = addend != nullptr ? 1 : 0;
    check_blas(
        cublasLtMatmul(handle, description.get(), &alpha, left, a.get(), right, b.get(), &beta,
                       addend != nullptr ? addend : out, d.get(), out, d.get(), &algorithm,
                       workspace, static_cast<std::size_t>(kGemmWorkspace.count()), stream),
        "a matrix product");
  }
};

CudaGemm::CudaGemm() : handle_(std::make_unique<Handle>()) {}
CudaGemm::~CudaGemm() = default;

std::size_t CudaGemm::library_version() { return cublasLtGetVersion(); }

CudaGemm::Plan& CudaGemm::plan_for(Product product, Size size, bool bias, bool adds) {
  const Key key{product, size.tokens, size.in, size.out, bias, adds};
  if (const auto found = plans_.find(key); found != plans_.end()) return *found->second;

  auto plan = std::make_unique<Plan>();
  cublasLtMatmulDesc_t description = nullptr;
  check_blas(cublasLtMatmulDescCreate(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F), "a product");
  plan->description.reset(description);
  const auto operations = [&](cublasOperation_t a, cublasOperation_t b) {
    set(description, CUBLASLT_MATMUL_DESC_TRANSA, a);
    set(description, CUBLASLT_MATMUL_DESC_TRANSB, b);
  };
  switch (product) {
    case Product::forward:  // y^T [out, T] = W [out, in] x^T [in, T]
      operations(CUBLAS_OP_T, CUBLAS_OP_N);
      plan->a = make_layout(CUDA_R_16BF, size.in, size.out);
      plan->b = make_layout(CUDA_R_16BF, size.in, size.tokens);
      plan->d = make_layout(CUDA_R_16BF, size.out, size.tokens);
      break;
    case Product::input_gradient:  // d_x^T [in, T] = W^T [in, out] d_y^T [out, T]
      operations(CUBLAS_OP_N, CUBLAS_OP_N);
      plan->a = make_layout(CUDA_R_16BF, size.in, size.out);
      plan->b = make_layout(CUDA_R_16BF, size.out, size.tokens);
      plan->d = make_layout(CUDA_R_16BF, size.in, size.tokens);
      break;
    case Product::weight_gradient:  // d_W^T [in, out] = x^T [in, T] d_y [T, out]
      operations(CUBLAS_OP_N, CUBLAS_OP_T);
      plan->a = make_layout(CUDA_R_16BF, size.in, size.tokens);
      plan->b = make_layout(CUDA_R_16BF, size.out, size.tokens);
      plan->d = make_layout(CUDA_R_32F, size.in, size.out);
      break;
  }
  if (bias) {
    set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(description, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CUDA_R_16BF);
  }
  cublasLtMatmulPreference_t preference = nullptr;
  check_blas(cublasLtMatmulPreferenceCreate(&preference), "a preference");
  const Preference owned(preference);
  const auto workspace = static_cast<std::size_t>(kGemmWorkspace.count());
  check_blas(
      cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                           &workspace, sizeof workspace),
      "the workspace's size");
  cublasLtMatmulHeuristicResult_t suggestion{};
  int found = 0;
  check_blas(cublasLtMatmulAlgoGetHeuristic(handle_->value, description, plan->a.get(),
                                            plan->b.get(), plan->d.get(), plan->d.get(), preference,
                                            1, &suggestion, &found),
             "an algorithm");
  if (found == 0) {
    throw EnvironmentError("cuBLASLt has no algorithm for a product of " +
                           std::to_string(size.tokens) + " x " + std::to_string(size.in) + " by " +
                           std::to_string(size.out));
  }
  plan->algorithm = suggestion.algo;
  return *plans_.emplace(key, std::move(plan)).first->second;
}

void CudaGemm::forward(cudaStream_t stream, Size size, const void* x, const void* weight,
                       const void* bias, const void* addend, void* y, void* workspace) {
  Plan& plan = plan_for(Product::forward, size, bias != nullptr, addend != nullptr);
  if (bias != nullptr) set(plan.description.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  plan.run(handle_->value, stream, weight, x, addend, y, workspace);
}

void CudaGemm::input_gradient(cudaStream_t stream, Size size, const void* d_y, const void* weight,
                              void* d_x, void* workspace) {
  plan_for(Product::input_gradient, size, false, false)
      .run(handle_->value, stream, weight, d_y, nullptr, d_x, workspace);
}

void CudaGemm::weight_gradient(cudaStream_t stream, Size size, const void* d_y, const void* x,
                               float* d_weight, bool first, void* workspace) {
  plan_for(Product::weight_gradient, size, false, !first)
      .run(handle_->value, stream, x, d_y, first ? nullptr : d_weight, d_weight, workspace);
}

}  // namespace sluice::engine
