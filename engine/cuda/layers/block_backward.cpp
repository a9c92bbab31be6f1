// Backward pass of a block: the MLP half, then the attention half, each reading and updating the
// stream's gradient.
#include "engine/cuda/kernels/rope.hpp"
#include "engine/cuda/layers/templates.hpp"
#include "engine/cuda/layers/views.hpp"

namespace sluice::engine {

void CudaTemplates::block_backward(cudaStream_t stream, const std::uint16_t* weights,
                                   float* gradient, cuda::Into into, const CudaRecord& record,
                                   std::byte* stream_gradient, std::byte* workspace) {
  backward_mlp(stream, weights, gradient, into, record, bf16(stream_gradient), workspace);
  backward_attention(stream, weights, gradient, into, record, bf16(stream_gradient), workspace);
}

void CudaTemplates::backward_attention(cudaStream_t stream, const std::uint16_t* weights,
                                       float* gradient, cuda::Into into, const CudaRecord& record,
                                       std::uint16_t* d_stream, std::byte* workspace) {
  const bool first = into == cuda::Into::overwrite;
  std::byte* gemm = workspace + space_.gemm.count();
  std::byte* normed = workspace + space_.normed.count();
  std::byte* d_normed = workspace + space_.d_normed.count();
  std::uint16_t* rotated = bf16(workspace + space_.rotated.count());
  std::uint16_t* d_qkv = bf16(workspace + space_.d_qkv.count());
  std::uint16_t* d_attention = bf16(workspace + space_.d_attention.count());
  std::byte* attention = record.at(layout_.attention);

  gemm_.weight_gradient(stream, {tokens_, query_, hidden_}, d_stream, attention,
                        gradient + slots_.o.weight.offset, first, gemm);
  bias_gradient(stream, slots_.o.bias, d_stream, tokens_, hidden_, gradient, into, workspace);
  gemm_.input_gradient(stream, {tokens_, query_, hidden_}, d_stream,
                       weights + slots_.o.weight.offset, d_attention, gemm);
  const std::int32_t* starts = find_documents(stream, record, workspace);
  rotate(stream, weights, record, all_tokens(), starts, workspace + space_.rotated.count());
  attention_->backward(stream, rotated, rotated + query_, rotated + query_ + key_, attention,
                       fp32(record.at(layout_.lse)), d_attention, d_qkv, d_qkv + query_,
                       d_qkv + query_ + key_, workspace + space_.attention.count(), starts);
  const std::uint16_t* raw = bf16(record.at(layout_.q));
  cuda::HeadNorms norms;
  cuda::HeadNormGradients norm_gradients;
  if (job_.model.head_norm == planner::HeadNorm::per_head) {
    norms = {.q = weights + slots_.q_norm.offset,
             .k = weights + slots_.k_norm.offset,
             .eps = static_cast<float>(job_.model.rms_eps)};
    norm_gradients = {
        .projected = {raw, raw + query_, qkv_, qkv_},
        .scales = {.q = fp32(record.at(layout_.q_rstd)), .k = fp32(record.at(layout_.k_rstd))},
        .d_q_norm = gradient + slots_.q_norm.offset,
        .d_k_norm = gradient + slots_.k_norm.offset,
        .into = into,
        .workspace = workspace + space_.partials.count()};
  }
  cuda::rope_backward(stream, rope_shape(all_tokens(), starts), rope_tables(0), norms,
                      norm_gradients, {d_qkv, d_qkv + query_, qkv_, qkv_});
  bias_gradient(stream, slots_.q.bias, d_qkv, tokens_, qkv_, gradient, into, workspace);
  const NormInput norm{bf16(record.input), weights + slots_.norm_before_attention.offset, tokens_};
  normalize(stream, norm, workspace);
  gemm_.weight_gradient(stream, {tokens_, hidden_, qkv_}, d_qkv, normed,
                        gradient + slots_.q.weight.offset, first, gemm);
  gemm_.input_gradient(stream, {tokens_, hidden_, qkv_}, d_qkv, weights + slots_.q.weight.offset,
                       d_normed, gemm);
  add_norm_backward(stream, norm, slots_.norm_before_attention, gradient, into, d_stream,
                    workspace);
}

}  // namespace sluice::engine
