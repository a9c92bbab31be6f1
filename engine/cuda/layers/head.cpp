// The head: final norm, lm_head and cross-entropy over token chunks, and their backward.
#include <algorithm>

#include "engine/cuda/kernels/loss.hpp"
#include "engine/cuda/layers/templates.hpp"
#include "engine/cuda/layers/views.hpp"
#include "engine/cuda/runtime/check.hpp"

namespace sluice::engine {

void CudaTemplates::loss(cudaStream_t stream, const CudaLossArguments& arguments,
                         std::byte* workspace) {
  std::uint16_t* normed = bf16(workspace + space_.normed.count());
  std::uint16_t* d_normed = bf16(workspace + space_.d_normed.count());
  std::uint16_t* logits = bf16(workspace + space_.logits.count());
  float* losses = fp32(workspace + space_.losses.count());
  std::byte* gemm = workspace + space_.gemm.count();
  const NormInput norm{bf16(arguments.input), arguments.head + ends_.final_norm.offset, tokens_};
  const std::int64_t vocab = job_.model.vocab;
  if (counts_bytes() > 0) {
    check_cuda(cudaMemcpyAsync(arguments.stream_gradient + layout_.counts.count(),
                               arguments.input + layout_.counts.count(), counts_bytes(),
                               cudaMemcpyDeviceToDevice, stream),
               "counts of routes");
  }
  normalize(stream, norm, workspace);
  const std::int64_t chunk = std::min(job_.loss_chunk, tokens_);
  for (std::int64_t begin = 0; begin < tokens_; begin += chunk) {
    const std::int64_t count = std::min(chunk, tokens_ - begin);
    const CudaGemm::Size size{count, hidden_, vocab};
    gemm_.forward(stream, size, normed + begin * hidden_, arguments.lm_head, nullptr, nullptr,
                  logits, gemm);
    cuda::cross_entropy(stream, logits, arguments.targets + begin, count, vocab, arguments.scale,
                        losses + begin, logit_change_);
    gemm_.weight_gradient(stream, size, logits, normed + begin * hidden_,
                          arguments.lm_head_gradient,
                          arguments.into == cuda::Into::overwrite && begin == 0, gemm);
    gemm_.input_gradient(stream, size, logits, arguments.lm_head, d_normed + begin * hidden_, gemm);
  }
  cuda::sum_losses(stream, losses, tokens_, arguments.loss_sum);
  normalize_backward(stream, norm,
                     {.d_x = bf16(arguments.stream_gradient),
                      .d_x_into = cuda::Into::overwrite,
                      .d_weight = arguments.gradient + ends_.final_norm.offset,
                      .d_weight_into = arguments.into},
                     workspace);
}

void CudaTemplates::loss_only(cudaStream_t stream, const CudaLossArguments& arguments,
                              std::byte* workspace) {
  std::uint16_t* normed = bf16(workspace + space_.normed.count());
  std::uint16_t* logits = bf16(workspace + space_.logits.count());
  float* losses = fp32(workspace + space_.losses.count());
  normalize(stream, {bf16(arguments.input), arguments.head + ends_.final_norm.offset, tokens_},
            workspace);
  const std::int64_t chunk = std::min(job_.loss_chunk, tokens_);
  for (std::int64_t begin = 0; begin < tokens_; begin += chunk) {
    const std::int64_t count = std::min(chunk, tokens_ - begin);
    gemm_.forward(stream, {count, hidden_, job_.model.vocab}, normed + begin * hidden_,
                  arguments.lm_head, nullptr, nullptr, logits, workspace + space_.gemm.count());
    cuda::cross_entropy_loss(stream, logits, arguments.targets + begin, count, job_.model.vocab,
                             losses + begin, logit_change_);
  }
  cuda::sum_losses(stream, losses, tokens_, arguments.loss_sum);
}

}  // namespace sluice::engine
