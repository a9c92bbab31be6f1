// Parts that both halves of a block use: a norm of the residual stream and the gradient of a bias.
#include "engine/cuda/kernels/bias.hpp"
#include "engine/cuda/kernels/norm.hpp"
#include "engine/cuda/kernels/residual.hpp"
#include "engine/cuda/layers/templates.hpp"
#include "engine/cuda/layers/views.hpp"

namespace sluice::engine {

CudaTemplates::NormInput CudaTemplates::norm_input(const std::uint16_t* weights, const Slot& norm,
                                                   const std::uint16_t* x, std::int64_t rows) {
  return {x, vector_of(weights, norm), rows};
}

const std::uint16_t* CudaTemplates::normalize(cudaStream_t stream, const NormInput& norm,
                                              std::byte* workspace) const {
  if (norm.weight == nullptr) return norm.x;
  std::uint16_t* normed = bf16(workspace + space_.normed.count());
  cuda::rms_norm(stream, norm.x, norm.weight, static_cast<float>(job_.model.rms_eps), norm.rows,
                 hidden_, normed, fp32(workspace + space_.rstd.count()), norm_factor());
  return normed;
}

void CudaTemplates::normalize_backward(cudaStream_t stream, const NormInput& norm,
                                       const cuda::NormGradients& gradients,
                                       std::byte* workspace) const {
  cuda::rms_norm_backward(stream, norm.x, norm.weight, fp32(workspace + space_.rstd.count()),
                          bf16(workspace + space_.d_normed.count()), norm.rows, hidden_, gradients,
                          workspace + space_.partials.count(), norm_factor());
}

void CudaTemplates::add_norm_backward(cudaStream_t stream, const NormInput& norm,
                                      const Slot& weight, float* gradient, cuda::Into into,
                                      std::uint16_t* d_stream, std::byte* workspace) const {
  if (!weight.exists()) {
    return cuda::join(stream, d_stream, bf16(workspace + space_.d_normed.count()), 1,
                      norm.rows * hidden_, d_stream);
  }
  normalize_backward(stream, norm,
                     {.d_x = d_stream,
                      .d_x_into = cuda::Into::accumulate,
                      .d_weight = gradient + weight.offset,
                      .d_weight_into = into},
                     workspace);
}

void CudaTemplates::bias_gradient(cudaStream_t stream, const Slot& bias, const std::uint16_t* d,
                                  std::int64_t tokens, std::int64_t columns, float* gradient,
                                  cuda::Into into, std::byte* workspace) const {
  if (!bias.exists()) return;
  cuda::column_sum(stream, d, tokens, columns, columns, gradient + bias.offset, into,
                   workspace + space_.partials.count());
}

}  // namespace sluice::engine
