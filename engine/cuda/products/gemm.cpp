#include "engine/cuda/products/gemm.hpp"

#include <utility>

#include "engine/cuda/products/gemm_call.hpp"
#include "sim/error.hpp"

namespace sluice::engine {

struct CudaGemm::Handle {
  BlasHandle blas;
};

struct CudaGemm::Plan {
  GemmKey key;
  GemmCall call;
  GemmAlgorithm algorithm;

  void run(const Handle& handle, cudaStream_t stream, const GemmOperands& operands,
           void* workspace) const {
    const cublasStatus_t status = call.enqueue(handle.blas, stream, algorithm, operands, workspace);
    if (status != CUBLAS_STATUS_SUCCESS) check_blas(status, "the product " + to_string(key));
  }
};

CudaGemm::CudaGemm(std::optional<GemmTable> table)
    : handle_(std::make_unique<Handle>()), table_(std::move(table)) {}
CudaGemm::~CudaGemm() = default;

std::size_t CudaGemm::library_version() { return cublasLtGetVersion(); }

std::string CudaGemm::numerics(std::span<const GemmKey> keys) const {
  return "cublaslt " + std::to_string(library_version()) + ", gemm " +
         (table_ ? table_->algorithms_hash(keys) : "first suggestions");
}

CudaGemm::Plan& CudaGemm::plan_for(const GemmKey& key) {
  if (const auto found = plans_.find(key); found != plans_.end()) return *found->second;
  GemmCall call(key);
  GemmAlgorithm algorithm;
  if (table_) {
    const GemmEntry* entry = table_->find(key);
    check(entry != nullptr, ("the GEMM table has the product " + to_string(key)).c_str());
    algorithm = entry->algorithm;
  } else {
    algorithm = call.suggestions(handle_->blas).front();
  }
  auto plan = std::make_unique<Plan>(Plan{key, std::move(call), algorithm});
  return *plans_.emplace(key, std::move(plan)).first->second;
}

// The operands' usual order. NOLINTNEXTLINE(bugprone-easily-swappable-parameters)
void CudaGemm::forward(cudaStream_t stream, Size size, const void* x, const void* weight,
                       const void* bias, const void* addend, void* y, void* workspace) {
  plan_for({.product = GemmProduct::forward,
            .tokens = size.tokens,
            .in = size.in,
            .out = size.out,
            .bias = bias != nullptr,
            .adds = addend != nullptr})
      .run(*handle_, stream, {.a = weight, .b = x, .bias = bias, .addend = addend, .d = y},
           workspace);
}

void CudaGemm::input_gradient(cudaStream_t stream, Size size, const void* d_y, const void* weight,
                              void* d_x, void* workspace) {
  plan_for({.product = GemmProduct::input_gradient,
            .tokens = size.tokens,
            .in = size.in,
            .out = size.out})
      .run(*handle_, stream, {.a = weight, .b = d_y, .d = d_x}, workspace);
}

// The operands' usual order. NOLINTNEXTLINE(bugprone-easily-swappable-parameters)
void CudaGemm::forward_onto(cudaStream_t stream, Size size, const void* x, const void* weight,
                            const void* addend, Factors factors, void* y, void* workspace) {
  plan_for({.product = GemmProduct::forward,
            .tokens = size.tokens,
            .in = size.in,
            .out = size.out,
            .adds = true})
      .run(*handle_, stream,
           {.a = weight,
            .b = x,
            .addend = addend,
            .d = y,
            .factor = factors.product,
            .addend_factor = factors.addend},
           workspace);
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters)
void CudaGemm::input_gradient_onto(cudaStream_t stream, Size size, const void* d_y,
                                   const void* weight, const void* addend, Factors factors,
                                   void* d_x, void* workspace) {
  plan_for({.product = GemmProduct::input_gradient,
            .tokens = size.tokens,
            .in = size.in,
            .out = size.out,
            .adds = true})
      .run(*handle_, stream,
           {.a = weight,
            .b = d_y,
            .addend = addend,
            .d = d_x,
            .factor = factors.product,
            .addend_factor = factors.addend},
           workspace);
}

void CudaGemm::weight_gradient(cudaStream_t stream, Size size, const void* d_y, const void* x,
                               float* d_weight, bool first, void* workspace) {
  plan_for({.product = GemmProduct::weight_gradient,
            .tokens = size.tokens,
            .in = size.in,
            .out = size.out,
            .adds = !first})
      .run(*handle_, stream,
           {.a = x, .b = d_y, .addend = first ? nullptr : d_weight, .d = d_weight}, workspace);
}

// The operands' usual order. NOLINTNEXTLINE(bugprone-easily-swappable-parameters)
void CudaGemm::forward_fp8(cudaStream_t stream, Size size, cuda::Quantized x,
                           cuda::Quantized weight, const void* addend, void* y, void* workspace) {
  plan_for({.product = GemmProduct::forward,
            .tokens = size.tokens,
            .in = size.in,
            .out = size.out,
            .adds = addend != nullptr,
            .fp8 = true,
            .tensorwise = x.tensorwise})
      .run(*handle_, stream,
           {.a = weight.values,
            .b = x.values,
            .addend = addend,
            .a_scales = weight.scales,
            .b_scales = x.scales,
            .d = y},
           workspace);
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters)
void CudaGemm::input_gradient_fp8(cudaStream_t stream, Size size, cuda::Quantized d_y,
                                  cuda::Quantized weight, void* d_x, void* workspace) {
  plan_for({.product = GemmProduct::input_gradient,
            .tokens = size.tokens,
            .in = size.in,
            .out = size.out,
            .fp8 = true,
            .tensorwise = d_y.tensorwise})
      .run(*handle_, stream,
           {.a = weight.values,
            .b = d_y.values,
            .a_scales = weight.scales,
            .b_scales = d_y.scales,
            .d = d_x},
           workspace);
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters)
void CudaGemm::weight_gradient_fp8(cudaStream_t stream, Size size, cuda::Quantized d_y,
                                   cuda::Quantized x, float* d_weight, bool first,
                                   void* workspace) {
  plan_for({.product = GemmProduct::weight_gradient,
            .tokens = size.tokens,
            .in = size.in,
            .out = size.out,
            .adds = !first,
            .fp8 = true,
            .tensorwise = x.tensorwise})
      .run(*handle_, stream,
           {.a = x.values,
            .b = d_y.values,
            .addend = first ? nullptr : d_weight,
            .a_scales = x.scales,
            .b_scales = d_y.scales,
            .d = d_weight},
           workspace);
}

}  // namespace sluice::engine
