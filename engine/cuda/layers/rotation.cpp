// Norms of queries and keys and their rotation, forward and backward, by the kernels for whole
// heads or in the general form.
#include "engine/cuda/kernels/rope.hpp"
#include "engine/cuda/kernels/rotary.hpp"
#include "engine/cuda/layers/latent_half.hpp"
#include "engine/cuda/layers/views.hpp"
#include "engine/cuda/runtime/check.hpp"

namespace sluice::engine {
namespace {

cuda::HeadNorms norms_of(const CudaLayer& layer, const std::uint16_t* weights) {
  return {.q = vector_of(weights, layer.slots.q_norm),
          .k = vector_of(weights, layer.slots.k_norm),
          .eps = static_cast<float>(layer.shape.rms_eps)};
}

cuda::RotaryShape rotary_shape(const CudaLayer& layer, const cuda::RopeShape& heads,
                               cuda::NormFactor factor) {
  const planner::Scales& scales = layer.shape.scales;
  return {.heads = heads,
          .pairs = layer.pairs,
          .norm = layer.shape.head_norm,
          .factor = factor,
          .query_growth = scales.query_growth,
          .query_growth_from = scales.query_growth_from};
}

/// Tables of the fast kernels, whose first row is that of position `first`.
cuda::RopeTables from_position(const CudaLayer& layer, std::int64_t first) {
  const std::int64_t offset = first * layer.pairs;
  return {.cos = layer.tables.cos + offset, .sin = layer.tables.sin + offset};
}

}  // namespace

void CudaTemplates::rotate(cudaStream_t stream, const std::uint16_t* weights,
                           const CudaRecord& record, Span span, const std::int32_t* starts,
                           std::byte* rotated) {
  const CudaLayer& layer = layer_of(record);
  if (layer.is_latent()) {
    return LatentHalf(*this, stream, weights, record, nullptr).rotate(span, starts, bf16(rotated));
  }
  const std::uint16_t* raw = bf16(record.at(layer.layout.q));
  std::uint16_t* turned = bf16(rotated);
  const cuda::HeadNorms norms = norms_of(layer, weights);
  cuda::HeadScales scales;
  if (layer.shape.head_norm != planner::HeadNorm::none) {
    scales = {.q = fp32(record.at(layer.layout.q_rstd)), .k = fp32(record.at(layer.layout.k_rstd))};
  }
  const cuda::RopeShape heads = rope_shape(span, starts);
  const cuda::ConstQueryKey from{raw, raw + query_, qkv_, qkv_};
  const cuda::QueryKey to{turned, turned + query_, qkv_, qkv_};
  if (layer.turns_generally(job_.seq_len)) {
    cuda::rotary_forward(stream, rotary_shape(layer, heads, norm_factor()), layer.tables,
                         span.first, norms, from, to, scales);
  } else {
    cuda::rope_forward(stream, heads, from_position(layer, span.first), norms, from, to, scales);
  }
  check_cuda(cudaMemcpy2DAsync(
                 turned + query_ + key_, 2 * static_cast<std::size_t>(qkv_), raw + query_ + key_,
                 2 * static_cast<std::size_t>(qkv_), 2 * static_cast<std::size_t>(key_),
                 static_cast<std::size_t>(span.count), cudaMemcpyDeviceToDevice, stream),
             "values beside rotated queries and keys");
}

void CudaTemplates::rotate_backward(cudaStream_t stream, const std::uint16_t* weights,
                                    float* gradient, cuda::Into into, const CudaRecord& record,
                                    const std::int32_t* starts, std::byte* workspace) {
  const CudaLayer& layer = layer_of(record);
  if (layer.is_latent()) {
    return LatentHalf(*this, stream, weights, record, workspace).rotate_backward(starts);
  }
  const std::uint16_t* raw = bf16(record.at(layer.layout.q));
  std::uint16_t* d_qkv = bf16(workspace + space_.d_qkv.count());
  cuda::HeadNorms norms;
  cuda::HeadNormGradients norm_gradients;
  if (layer.shape.head_norm != planner::HeadNorm::none) {
    norms = norms_of(layer, weights);
    norm_gradients = {.projected = {raw, raw + query_, qkv_, qkv_},
                      .scales = {.q = fp32(record.at(layer.layout.q_rstd)),
                                 .k = fp32(record.at(layer.layout.k_rstd))},
                      .d_q_norm = gradient + layer.slots.q_norm.offset,
                      .d_k_norm = gradient + layer.slots.k_norm.offset,
                      .into = into,
                      .workspace = workspace + space_.partials.count()};
  }
  const cuda::RopeShape heads = rope_shape(all_tokens(), starts);
  const cuda::QueryKey d{d_qkv, d_qkv + query_, qkv_, qkv_};
  if (layer.turns_generally(job_.seq_len)) {
    return cuda::rotary_backward(stream, rotary_shape(layer, heads, norm_factor()), layer.tables,
                                 norms, norm_gradients, d);
  }
  cuda::rope_backward(stream, heads, layer.tables, norms, norm_gradients, d);
}

}  // namespace sluice::engine
