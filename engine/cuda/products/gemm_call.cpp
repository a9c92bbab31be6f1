#include "engine/cuda/products/gemm_call.hpp"

#include <array>
#include <bit>

#include "planner/models/shape.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

static_assert(sizeof(cublasLtMatmulAlgo_t) == sizeof(GemmAlgorithm));
static_assert(CUBLASLT_REDUCTION_SCHEME_NONE == GemmConfiguration{}.reduction);

/// Alignment of every operand's address in bytes: tensors lie at multiples of kTensorAlign bf16
/// elements.
constexpr std::uint32_t kOperandAlignment = 2 * planner::kTensorAlign;

template <class Value>
void set(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute, Value value) {
  check_blas(cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof value),
             "a product's attribute");
}

template <class Value>
void set(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
         Value value) {
  check_blas(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value),
             "a preference's attribute");
}

}  // namespace

void check_blas(cublasStatus_t status, const std::string& what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw EnvironmentError("cuBLASLt: " + what + ": " + cublasLtGetStatusString(status));
}

BlasHandle::BlasHandle() {
  check_blas(cublasLtCreate(&value_), "no handle: is the driver older than the toolkit?");
}
BlasHandle::~BlasHandle() { cublasLtDestroy(value_); }

/// Layout of a column-major [rows, cols] without padding, which is what cuBLAS sees of a row-major
/// [cols, rows].
GemmCall::Layout GemmCall::make_layout(cudaDataType_t type, std::int64_t rows, std::int64_t cols) {
  cublasLtMatrixLayout_t layout = nullptr;
  check_blas(cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(rows),
                                        static_cast<std::uint64_t>(cols), rows),
             "a matrix layout");
  return Layout(layout);
}

GemmCall::Preference GemmCall::make_preference() {
  cublasLtMatmulPreference_t preference = nullptr;
  check_blas(cublasLtMatmulPreferenceCreate(&preference), "a preference");
  Preference owned(preference);
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
      static_cast<std::uint64_t>(kGemmWorkspace.count()));
  set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      std::uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE});
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    set(preference, attribute, kOperandAlignment);
  }
  return owned;
}

/// Operands of one byte, each with the dimension that is summed over innermost, as FP8 products of
/// sm_89 and sm_90 take them. A weight has a scale for every block of 128 x 128, other operands for
/// every 128 elements of that dimension; or all have one scale, and gradients are E5M2.
void GemmCall::describe_fp8() {
  set(description_.get(), CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  set(description_.get(), CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N);
  const auto sizes = [&](std::int64_t m, std::int64_t n, std::int64_t k, cudaDataType_t result) {
    const bool gradient = key_.tensorwise && key_.product != GemmProduct::forward;
    a_ = make_layout(CUDA_R_8F_E4M3, k, m);
    b_ = make_layout(gradient ? CUDA_R_8F_E5M2 : CUDA_R_8F_E4M3, k, n);
    d_ = make_layout(result, m, n);
  };
  switch (key_.product) {
    case GemmProduct::forward:  // y^T [out, T] = W [out, in] x^T [in, T]
      sizes(key_.out, key_.tokens, key_.in, CUDA_R_16BF);
      break;
    case GemmProduct::input_gradient:  // d_x^T [in, T] = W^T [in, out] d_y^T [out, T]
      sizes(key_.in, key_.tokens, key_.out, CUDA_R_16BF);
      break;
    case GemmProduct::weight_gradient:  // d_W^T [in, out] = x^T [in, T] d_y [T, out]
      sizes(key_.in, key_.out, key_.tokens, CUDA_R_32F);
      break;
  }
  constexpr std::int32_t kBlocks = CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
  constexpr std::int32_t kVectors = CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
  if (!key_.tensorwise) {  // One scale is the library's usual mode.
    set(description_.get(), CUBLASLT_MATMUL_DESC_A_SCALE_MODE,
        key_.product == GemmProduct::weight_gradient ? kVectors : kBlocks);
    set(description_.get(), CUBLASLT_MATMUL_DESC_B_SCALE_MODE, kVectors);
  }
  // The library suggests algorithms only where both pointers are set; enqueue() sets the true ones.
  alignas(256) static const float placeholder = 1;
  set(description_.get(), CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &placeholder);
  set(description_.get(), CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &placeholder);
}

GemmCall::GemmCall(const GemmKey& key) : key_(key) {
  cublasLtMatmulDesc_t description = nullptr;
  check_blas(cublasLtMatmulDescCreate(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F), "a product");
  description_.reset(description);
  if (key.fp8) {
    describe_fp8();
    return;
  }
  const auto operations = [&](cublasOperation_t a, cublasOperation_t b) {
    set(description, CUBLASLT_MATMUL_DESC_TRANSA, a);
    set(description, CUBLASLT_MATMUL_DESC_TRANSB, b);
  };
  switch (key.product) {
    case GemmProduct::forward:  // y^T [out, T] = W [out, in] x^T [in, T]
      operations(CUBLAS_OP_T, CUBLAS_OP_N);
      a_ = make_layout(CUDA_R_16BF, key.in, key.out);
      b_ = make_layout(CUDA_R_16BF, key.in, key.tokens);
      d_ = make_layout(CUDA_R_16BF, key.out, key.tokens);
      break;
    case GemmProduct::input_gradient:  // d_x^T [in, T] = W^T [in, out] d_y^T [out, T]
      operations(CUBLAS_OP_N, CUBLAS_OP_N);
      a_ = make_layout(CUDA_R_16BF, key.in, key.out);
      b_ = make_layout(CUDA_R_16BF, key.out, key.tokens);
      d_ = make_layout(CUDA_R_16BF, key.in, key.tokens);
      break;
    case GemmProduct::weight_gradient:  // d_W^T [in, out] = x^T [in, T] d_y [T, out]
      operations(CUBLAS_OP_N, CUBLAS_OP_T);
      a_ = make_layout(CUDA_R_16BF, key.in, key.tokens);
      b_ = make_layout(CUDA_R_16BF, key.out, key.tokens);
      d_ = make_layout(CUDA_R_32F, key.in, key.out);
      break;
  }
  if (key.bias) {
    set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(description, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CUDA_R_16BF);
  }
}

std::vector<GemmAlgorithm> GemmCall::suggestions(const BlasHandle& handle) const {
  const Preference preference = make_preference();
  std::array<cublasLtMatmulHeuristicResult_t, kGemmSuggestions> results{};
  int found = 0;
  check_blas(cublasLtMatmulAlgoGetHeuristic(handle.get(), description_.get(), a_.get(), b_.get(),
                                            d_.get(), d_.get(), preference.get(), kGemmSuggestions,
                                            results.data(), &found),
             "algorithms for " + to_string(key_));
  std::vector<GemmAlgorithm> algorithms;
  for (int i = 0; i < found; ++i) {
    const auto& result = results[static_cast<std::size_t>(i)];
    if (result.state != CUBLAS_STATUS_SUCCESS) continue;
    if (result.workspaceSize > static_cast<std::size_t>(kGemmWorkspace.count())) continue;
    const auto algorithm = std::bit_cast<GemmAlgorithm>(result.algo);
    if (admissible(configuration_of(algorithm))) algorithms.push_back(algorithm);
  }
  if (algorithms.empty()) {
    throw EnvironmentError("cuBLASLt has no algorithm for the product " + to_string(key_));
  }
  return algorithms;
}

cublasStatus_t GemmCall::enqueue(const BlasHandle& handle, cudaStream_t stream,
                                 const GemmAlgorithm& algorithm, const GemmOperands& operands,
                                 void* workspace) const {
  check((operands.bias != nullptr) == key_.bias && (operands.addend != nullptr) == key_.adds,
        "a product has the operands of its key");
  if (key_.bias) set(description_.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands.bias);
  check((operands.a_scales != nullptr) == key_.fp8 && (operands.b_scales != nullptr) == key_.fp8,
        "an FP8 product has scales");
  if (key_.fp8) {
    set(description_.get(), CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, operands.a_scales);
    set(description_.get(), CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, operands.b_scales);
  }
  const float alpha = operands.factor;
  const float beta = key_.adds ? operands.addend_factor : 0;
  const auto choice = std::bit_cast<cublasLtMatmulAlgo_t>(algorithm);
  return cublasLtMatmul(handle.get(), description_.get(), &alpha, operands.a, a_.get(), operands.b,
                        b_.get(), &beta, key_.adds ? operands.addend : operands.d, d_.get(),
                        operands.d, d_.get(), &choice, workspace,
                        static_cast<std::size_t>(kGemmWorkspace.count()), stream);
}

GemmConfiguration configuration_of(const GemmAlgorithm& algorithm) {
  const auto choice = std::bit_cast<cublasLtMatmulAlgo_t>(algorithm);
  GemmConfiguration configuration;
  const auto get = [&](cublasLtMatmulAlgoConfigAttributes_t attribute, auto& value) {
    auto told = value;
    std::size_t written = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoConfigGetAttribute(&choice, attribute, &told, sizeof told, &written);
    if (status == CUBLAS_STATUS_SUCCESS) value = told;
  };
  get(CUBLASLT_ALGO_CONFIG_ID, configuration.id);
  get(CUBLASLT_ALGO_CONFIG_TILE_ID, configuration.tile);
  get(CUBLASLT_ALGO_CONFIG_STAGES_ID, configuration.stages);
  get(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, configuration.split_k);
  get(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, configuration.reduction);
  get(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, configuration.swizzle);
  get(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, configuration.custom);
  get(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, configuration.inner_shape);
  get(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, configuration.cluster_shape);
  return configuration;
}

}  // namespace sluice::engine
