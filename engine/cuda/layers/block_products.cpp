// Products of a block's projections, with bf16 operands or with operands that are quantized to
// FP8 first (docs/design/fp8.md).
#include "engine/cuda/kernels/bias.hpp"
#include "engine/cuda/kernels/quantize.hpp"
#include "engine/cuda/layers/templates.hpp"
#include "engine/cuda/layers/views.hpp"

namespace sluice::engine {

cuda::Quantized CudaTemplates::fp8_at(Bytes values, Bytes scales, std::byte* workspace) const {
  return {reinterpret_cast<std::uint8_t*>(workspace + values.count()),
          fp32(workspace + scales.count()), tensorwise()};
}

void CudaTemplates::multiply(cudaStream_t stream, const std::uint16_t* weights,
                             const Multiplied& product, std::byte* workspace) {
  const Projection& projection = product.projection;
  const CudaGemm::Size& size = product.size;
  const std::uint16_t* weight = weights + projection.weight.offset;
  const std::uint16_t* bias = vector_of(weights, projection.bias);
  std::byte* gemm = workspace + space_.gemm.count();
  if (!product.fp8) {
    return gemm_.forward(stream, size, product.x, weight, bias, product.addend, product.y, gemm);
  }
  const cuda::Quantized x = fp8_at(space_.fp8.x, space_.fp8.x_scales, workspace);
  const cuda::Quantized w =
      fp8_weights_->get(stream, weight, size.out, size.in, Fp8Weights::Form::along);
  if (product.x != nullptr) {
    cuda::quantize(stream, static_cast<const std::uint16_t*>(product.x), size.tokens, size.in,
                   size.in, {.along = x});
  }
  gemm_.forward_fp8(stream, size, x, w, product.addend, product.y, gemm);
  if (bias == nullptr) return;
  cuda::add_bias(stream, bias, size.tokens, size.out, size.out,
                 static_cast<std::uint16_t*>(product.y));
}

CudaTemplates::ResultGradient CudaTemplates::result_gradient(cudaStream_t stream,
                                                             CudaGemm::Size size,
                                                             const std::uint16_t* d, bool fp8,
                                                             std::byte* workspace) const {
  if (!fp8) return {.d = d, .size = size};
  const cuda::QuantizedForms forms{
      .along = fp8_at(space_.fp8.d, space_.fp8.d_scales, workspace),
      .across = fp8_at(space_.fp8.d_across, space_.fp8.d_across_scales, workspace)};
  cuda::quantize(stream, d, size.tokens, size.out, size.out, forms,
                 tensorwise() ? cuda::Fp8Format::e5m2 : cuda::Fp8Format::e4m3);
  return {.d = d, .size = size, .fp8 = true, .along = forms.along, .across = forms.across};
}

void CudaTemplates::add_weight_gradient(cudaStream_t stream, const ResultGradient& d,
                                        const std::uint16_t* x, const Slot& weight, float* gradient,
                                        bool first, std::byte* workspace) {
  float* const sum = gradient + weight.offset;
  std::byte* gemm = workspace + space_.gemm.count();
  if (!d.fp8) return gemm_.weight_gradient(stream, d.size, d.d, x, sum, first, gemm);
  const cuda::Quantized turned = fp8_at(space_.fp8.x, space_.fp8.x_scales, workspace);
  if (x != nullptr) {
    cuda::quantize(stream, x, d.size.tokens, d.size.in, d.size.in, {.across = turned});
  }
  gemm_.weight_gradient_fp8(stream, d.size, d.across, turned, sum, first, gemm);
}

void CudaTemplates::multiply_back(cudaStream_t stream, const std::uint16_t* weights,
                                  const ResultGradient& d, const Slot& weight, void* d_x,
                                  std::byte* workspace) {
  const std::uint16_t* values = weights + weight.offset;
  std::byte* gemm = workspace + space_.gemm.count();
  if (!d.fp8) return gemm_.input_gradient(stream, d.size, d.d, values, d_x, gemm);
  const cuda::Quantized turned =
      fp8_weights_->get(stream, values, d.size.out, d.size.in, Fp8Weights::Form::across);
  gemm_.input_gradient_fp8(stream, d.size, d.along, turned, d_x, gemm);
}

}  // namespace sluice::engine
