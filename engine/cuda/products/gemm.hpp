// Matrix products of linear layers through cuBLASLt, with bf16 operands and fp32 accumulation.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "engine/cuda/kernels/quantize.hpp"
#include "engine/cuda/products/gemm_product.hpp"
#include "engine/cuda/products/gemm_table.hpp"

namespace sluice::engine {

/// The matrix products of linear layers, through cuBLASLt: y = x W^T (+ bias) with x [T, in], W
/// [out, in], y [T, out], row-major bf16, and its two gradients. Algorithms come from a table (made
/// by ensure_gemm_table). Without a table, for tests and measurements, each is the library's first
/// admissible suggestion, which is always the same for one GPU and library but not the fastest. An
/// object serves one stream at a time; the first product of each size allocates host memory. All
/// pointers are device memory at multiples of 64 bytes and must stay valid until the stream has
/// passed the call.
class CudaGemm {
 public:
  /// Takes the algorithms of `table`, or none. Throws EnvironmentError if cuBLASLt cannot start.
  explicit CudaGemm(std::optional<GemmTable> table = std::nullopt);
  ~CudaGemm();
  CudaGemm(const CudaGemm&) = delete;  // Owns the library's handle.
  CudaGemm& operator=(const CudaGemm&) = delete;

  struct Size {
    std::int64_t tokens, in, out;
  };
  /// Forward product: y = x W^T + bias + addend; `bias` [out] and `addend` [T, out] may be null.
  /// `addend` may be y.
  void forward(cudaStream_t stream, Size size, const void* x, const void* weight, const void* bias,
               const void* addend, void* y, void* workspace);
  /// Gradient of the input: d_x [T, in] = d_y W.
  void input_gradient(cudaStream_t stream, Size size, const void* d_y, const void* weight,
                      void* d_x, void* workspace);
  /// Gradient of the weights: d_weight [out, in], fp32, = (first ? 0 : d_weight) + d_y^T x.
  void weight_gradient(cudaStream_t stream, Size size, const void* d_y, const void* x,
                       float* d_weight, bool first, void* workspace);

  /// Factors of a product and of the matrix that is added to it.
  struct Factors {
    float product, addend;
  };
  /// Forward product onto a matrix: y = factors.product x W^T + factors.addend addend; `addend` may
  /// be y.
  void forward_onto(cudaStream_t stream, Size size, const void* x, const void* weight,
                    const void* addend, Factors factors, void* y, void* workspace);
  /// Input's gradient onto a matrix: d_x = factors.product d_y W + factors.addend addend.
  void input_gradient_onto(cudaStream_t stream, Size size, const void* d_y, const void* weight,
                           const void* addend, Factors factors, void* d_x, void* workspace);

  /// The three products with FP8 operands, whose dimension that is summed over lies innermost. x
  /// and d_y have a scale for every 128 elements, weights one for every 128 x 128: forward of x [T,
  /// in] and the weight [out, in]; input gradient of d_y [T, out] and the transposed weight [in,
  /// out]; weight gradient of transposed d_y [out, T] and x [in, T].
  void forward_fp8(cudaStream_t stream, Size size, cuda::Quantized x, cuda::Quantized weight,
                   const void* addend, void* y, void* workspace);
  void input_gradient_fp8(cudaStream_t stream, Size size, cuda::Quantized d_y,
                          cuda::Quantized weight, void* d_x, void* workspace);
  void weight_gradient_fp8(cudaStream_t stream, Size size, cuda::Quantized d_y, cuda::Quantized x,
                           float* d_weight, bool first, void* workspace);

  /// Text that names the library's version and whatever decided the algorithms of the products
  /// `keys`; part of the numerics id.
  [[nodiscard]] std::string numerics(std::span<const GemmKey> keys) const;
  [[nodiscard]] static std::size_t library_version();

 private:
  struct Plan;
  /// What cuBLASLt needs to compute the product of `key`, made on its first use. Throws
  /// std::logic_error if the table lacks it.
  Plan& plan_for(const GemmKey& key);

  struct Handle;
  std::unique_ptr<Handle> handle_;
  std::optional<GemmTable> table_;
  std::map<GemmKey, std::unique_ptr<Plan>> plans_;
};

}  // namespace sluice::engine
