// Forward pass of a block's attention half: norm, projections, rotation, attention, and the o
// projection onto the residual stream.
#include "engine/cuda/kernels/attention_gate.hpp"
#include "engine/cuda/kernels/documents.hpp"
#include "engine/cuda/kernels/sinks.hpp"
#include "engine/cuda/layers/latent_half.hpp"
#include "engine/cuda/layers/views.hpp"

namespace sluice::engine {

CudaTemplates::Documents CudaTemplates::find_documents(cudaStream_t stream,
                                                       const CudaRecord& record,
                                                       std::byte* workspace) const {
  if (record.documents == nullptr) return {};
  auto* starts = reinterpret_cast<std::int32_t*>(workspace + space_.starts.count());
  cuda::document_starts(stream, record.documents, job_.micro_batch, job_.seq_len, starts);
  const auto window = layer_of(record).window_in_documents;
  if (!window) return {starts, starts};
  auto* first_keys = reinterpret_cast<std::int32_t*>(workspace + space_.first_keys.count());
  cuda::first_keys_in_window(stream, starts, tokens_, job_.seq_len, *window, first_keys);
  return {starts, first_keys};
}

/// Norm and projection to q, k, v, and to the gate of attention's output.
void CudaTemplates::project_qkv(cudaStream_t stream, const std::uint16_t* weights,
                                const CudaRecord& record, Span span, std::byte* workspace) {
  const CudaLayer& layer = layer_of(record);
  if (layer.is_latent()) {
    return LatentHalf(*this, stream, weights, record, workspace).project(span.count);
  }
  const BlockSlots& slots = layer.slots;
  const std::uint16_t* normed = normalize(
      stream, norm_input(weights, slots.norm_before_attention, bf16(record.input), span.count),
      workspace);
  multiply(stream, weights,
           {.size = {span.count, hidden_, qkv_},
            .x = normed,
            .projection = slots.q,
            .addend = nullptr,
            .y = record.at(layer.layout.q),
            .fp8 = in_fp8(record)},
           workspace);
  if (!slots.attention_gate.weight.exists()) return;
  gemm_.forward(stream, {span.count, hidden_, query_}, normed,
                weights + slots.attention_gate.weight.offset, nullptr, nullptr,
                record.at(layer.layout.attention_gate), workspace + space_.gemm.count());
}

/// Norm, q, k, v, RoPE and attention: writes the record from q to lse.
void CudaTemplates::attend(cudaStream_t stream, const std::uint16_t* weights,
                           const CudaRecord& record, std::byte* workspace) {
  const CudaLayer& layer = layer_of(record);
  if (layer.is_delta_net()) return mix(stream, weights, record, workspace);
  std::byte* rotated = workspace + space_.rotated.count();
  const std::uint16_t* q = bf16(rotated);
  const Documents documents = find_documents(stream, record, workspace);
  project_qkv(stream, weights, record, all_tokens(), workspace);
  rotate(stream, weights, record, all_tokens(), documents.starts, rotated);
  std::byte* attention = record.at(layer.layout.attention);
  std::byte* output = layer.widens_values() ? workspace + space_.latent.output.count() : attention;
  float* lse = fp32(record.at(layer.layout.lse));
  layer.attention->forward(stream, q, q + query_, q + query_ + key_, output, lse,
                           workspace + space_.attention.count(), documents.first_keys);
  if (layer.widens_values()) LatentHalf(*this, stream, weights, record, workspace).narrow_output();
  if (!layer.slots.sinks.exists()) return;
  cuda::join_sinks(stream,
                   {.sequences = job_.micro_batch,
                    .length = job_.seq_len,
                    .heads = job_.model.heads,
                    .head_dim = job_.model.head_dim},
                   weights + layer.slots.sinks.offset, bf16(attention), lse);
}

const std::uint16_t* CudaTemplates::gated_attention(cudaStream_t stream, const CudaRecord& record,
                                                    std::int64_t rows, std::byte* workspace) const {
  const CudaLayer& layer = layer_of(record);
  const std::uint16_t* attention = bf16(record.at(layer.layout.attention));
  if (!layer.slots.attention_gate.weight.exists()) return attention;
  std::uint16_t* gated = bf16(workspace + space_.gated.count());
  cuda::gate_attention(stream, attention, bf16(record.at(layer.layout.attention_gate)),
                       rows * query_, gated);
  return gated;
}

/// Adds the o projection to the residual stream.
void CudaTemplates::project_out(cudaStream_t stream, const std::uint16_t* weights,
                                const CudaRecord& record, Span span, std::byte* workspace) {
  const CudaLayer& layer = layer_of(record);
  const BlockSlots& slots = layer.slots;
  const std::uint16_t* mixed = layer.is_delta_net()
                                   ? normed_mix(stream, weights, record, span.count, workspace)
                                   : gated_attention(stream, record, span.count, workspace);
  multiply_onto_stream(stream, weights,
                       {.size = {span.count, slots.o.weight.cols, hidden_},
                        .x = mixed,
                        .projection = slots.o,
                        .norm = slots.norm_after_attention,
                        .stream = bf16(record.input),
                        .output = branch_output(record, slots.norm_after_attention,
                                                layout_.attention_output, workspace),
                        .next = bf16(record.at(layout_.residual)),
                        .fp8 = in_fp8(record)},
                       workspace);
}

}  // namespace sluice::engine
