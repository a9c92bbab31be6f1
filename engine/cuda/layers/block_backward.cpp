// Backward pass of a block: the MLP half, then the attention half, each reading and updating the
// stream's gradient.
#include "engine/cuda/kernels/attention_gate.hpp"
#include "engine/cuda/kernels/gradient.hpp"
#include "engine/cuda/kernels/residual.hpp"
#include "engine/cuda/kernels/sinks.hpp"
#include "engine/cuda/layers/latent_half.hpp"
#include "engine/cuda/layers/views.hpp"

namespace sluice::engine {

void CudaTemplates::block_backward(cudaStream_t stream, const std::uint16_t* weights,
                                   float* gradient, cuda::Into into, const CudaRecord& record,
                                   std::byte* stream_gradient, std::byte* workspace) {
  fp8_weights_->begin(weights, record);
  if (into == cuda::Into::overwrite) {
    for (const UnwrittenRange& range : layer_of(record).unwritten) {
      cuda::fill_zero(stream, gradient + range.offset, Bytes(4 * range.elements));
    }
  }
  backward_mlp(stream, weights, gradient, into, record, bf16(stream_gradient), workspace);
  backward_attention(stream, weights, gradient, into, record, bf16(stream_gradient), workspace);
}

/// The o projection, and the gate of its input: leaves the gradient of attention's output, and of
/// the gate, in the workspace.
void CudaTemplates::backward_out(cudaStream_t stream, const std::uint16_t* weights, float* gradient,
                                 cuda::Into into, const CudaRecord& record,
                                 const std::uint16_t* d_stream, std::byte* workspace) {
  const CudaLayer& layer = layer_of(record);
  const BlockSlots& slots = layer.slots;
  const CudaGemm::Size size{tokens_, slots.o.weight.cols, hidden_};
  std::uint16_t* d_attention =
      bf16(workspace + (layer.widens_values() ? space_.d_qkv : space_.d_attention).count());
  const NormInput output = norm_input(weights, slots.norm_after_attention,
                                      bf16(record.at(layout_.attention_output)), tokens_);
  const std::uint16_t* d = branch_gradient(stream, output, slots.norm_after_attention, d_stream,
                                           gradient, into, workspace);
  const std::uint16_t* gated = gated_attention(stream, record, tokens_, workspace);
  const ResultGradient result = result_gradient(stream, size, d, in_fp8(record), workspace);
  add_weight_gradient(stream, result, gated, slots.o.weight, gradient,
                      into == cuda::Into::overwrite, workspace);
  bias_gradient(stream, slots.o.bias, d, tokens_, hidden_, gradient, into, workspace);
  multiply_back(stream, weights, result, slots.o.weight, d_attention, workspace);
  if (!slots.attention_gate.weight.exists()) return;
  cuda::gate_attention_backward(stream, bf16(record.at(layer.layout.attention)),
                                bf16(record.at(layer.layout.attention_gate)), tokens_ * query_,
                                d_attention, bf16(workspace + space_.gated.count()));
}

/// The projections to q, k and v and to the gate, from their gradients in the workspace, and the
/// norm before them.
void CudaTemplates::backward_qkv(cudaStream_t stream, const std::uint16_t* weights, float* gradient,
                                 cuda::Into into, const CudaRecord& record, std::uint16_t* d_stream,
                                 std::byte* workspace) {
  if (layer_of(record).is_latent()) {
    return LatentHalf(*this, stream, weights, record, workspace).backward(gradient, into, d_stream);
  }
  const BlockSlots& slots = layer_of(record).slots;
  const bool first = into == cuda::Into::overwrite;
  std::byte* gemm = workspace + space_.gemm.count();
  std::uint16_t* d_normed = bf16(workspace + space_.d_normed.count());
  const std::uint16_t* d_qkv = bf16(workspace + space_.d_qkv.count());
  bias_gradient(stream, slots.q.bias, d_qkv, tokens_, qkv_, gradient, into, workspace);
  const NormInput norm =
      norm_input(weights, slots.norm_before_attention, bf16(record.input), tokens_);
  const std::uint16_t* normed = normalize(stream, norm, workspace);
  const ResultGradient result =
      result_gradient(stream, {tokens_, hidden_, qkv_}, d_qkv, in_fp8(record), workspace);
  add_weight_gradient(stream, result, normed, slots.q.weight, gradient, first, workspace);
  multiply_back(stream, weights, result, slots.q.weight, d_normed, workspace);
  if (const Slot& gate = slots.attention_gate.weight; gate.exists()) {
    const std::uint16_t* d_gate = bf16(workspace + space_.gated.count());
    std::uint16_t* part = bf16(workspace + space_.branch.count());
    gemm_.weight_gradient(stream, {tokens_, hidden_, query_}, d_gate, normed,
                          gradient + gate.offset, first, gemm);
    gemm_.input_gradient(stream, {tokens_, hidden_, query_}, d_gate, weights + gate.offset, part,
                         gemm);
    cuda::join(stream, d_normed, part, 1, tokens_ * hidden_, d_normed);
  }
  add_norm_backward(stream, norm, slots.norm_before_attention, gradient, into, d_stream, workspace);
}

void CudaTemplates::backward_attention(cudaStream_t stream, const std::uint16_t* weights,
                                       float* gradient, cuda::Into into, const CudaRecord& record,
                                       std::uint16_t* d_stream, std::byte* workspace) {
  const CudaLayer& layer = layer_of(record);
  if (layer.is_delta_net()) {
    return backward_delta(stream, weights, gradient, into, record, d_stream, workspace);
  }
  const std::uint16_t* rotated = bf16(workspace + space_.rotated.count());
  std::uint16_t* d_qkv = bf16(workspace + space_.d_qkv.count());
  const float* lse = fp32(record.at(layer.layout.lse));
  backward_out(stream, weights, gradient, into, record, d_stream, workspace);
  const std::uint16_t* d_attention = bf16(workspace + space_.d_attention.count());
  const std::uint16_t* attention = bf16(record.at(layer.layout.attention));
  if (layer.widens_values()) {
    LatentHalf(*this, stream, weights, record, workspace).widen_output();
    attention = bf16(workspace + space_.latent.output.count());
  }
  if (const Slot& sinks = layer.slots.sinks; sinks.exists()) {
    cuda::sinks_backward(stream,
                         {.sequences = job_.micro_batch,
                          .length = job_.seq_len,
                          .heads = job_.model.heads,
                          .head_dim = job_.model.head_dim},
                         weights + sinks.offset, attention, lse, d_attention,
                         gradient + sinks.offset, into, workspace + space_.partials.count());
  }
  const Documents documents = find_documents(stream, record, workspace);
  rotate(stream, weights, record, all_tokens(), documents.starts,
         workspace + space_.rotated.count());
  layer.attention->backward(stream, rotated, rotated + query_, rotated + query_ + key_, attention,
                            lse, d_attention, d_qkv, d_qkv + query_, d_qkv + query_ + key_,
                            workspace + space_.attention.count(), documents.first_keys);
  rotate_backward(stream, weights, gradient, into, record, documents.starts, workspace);
  backward_qkv(stream, weights, gradient, into, record, d_stream, workspace);
}

}  // namespace sluice::engine
