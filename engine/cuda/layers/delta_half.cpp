// A gated delta net in the place of attention (docs/design/gated-delta-net.md): projections,
// convolution, rule and gated norm, forward and backward. Rows of projections are [q k v gate rates
// decays], from q on in the record, as their matrices lie in the block.
#include "engine/cuda/kernels/delta_conv.hpp"
#include "engine/cuda/kernels/delta_gates.hpp"
#include "engine/cuda/kernels/delta_rule.hpp"
#include "engine/cuda/kernels/documents.hpp"
#include "engine/cuda/kernels/gated_norm.hpp"
#include "engine/cuda/layers/templates.hpp"
#include "engine/cuda/layers/views.hpp"
#include "engine/cuda/runtime/check.hpp"

namespace sluice::engine {

/// Norm and projections.
void CudaTemplates::project_delta(cudaStream_t stream, const std::uint16_t* weights,
                                  const CudaRecord& record, std::int64_t tokens,
                                  std::byte* workspace) {
  const CudaLayer& layer = layer_of(record);
  const std::uint16_t* normed = normalize(
      stream, norm_input(weights, layer.slots.norm_before_attention, bf16(record.input), tokens),
      workspace);
  gemm_.forward(stream, {tokens, hidden_, planner::delta_row(*layer.shape.delta_net)}, normed,
                weights + layer.slots.q.weight.offset, nullptr, nullptr, record.at(layer.layout.q),
                workspace + space_.gemm.count());
}

CudaTemplates::DeltaCall CudaTemplates::delta_call(const std::uint16_t* weights,
                                                   const CudaRecord& record, std::int64_t tokens,
                                                   std::byte* workspace) const {
  const CudaLayer& layer = layer_of(record);
  const planner::DeltaNet& net = *layer.shape.delta_net;
  const DeltaSlots& slots = layer.slots.delta;
  const std::uint16_t* rows = bf16(record.at(layer.layout.q));
  const std::int64_t row = planner::delta_row(net);
  const std::uint16_t* gate = rows + net.channels();
  const std::uint16_t* rates = gate + net.values();
  const auto floats = [&](Bytes offset) { return fp32(delta_at(workspace, offset)); };
  const std::int32_t* starts =
      record.documents == nullptr
          ? nullptr
          : reinterpret_cast<const std::int32_t*>(delta_at(workspace, space_.delta.starts));
  return {.conv = {.tokens = tokens,
                   .length = job_.seq_len,
                   .channels = net.channels(),
                   .row = row,
                   .starts = starts},
          .gates = {.tokens = tokens,
                    .heads = net.value_heads,
                    .row = row,
                    .b = rates,
                    .a = rates + net.value_heads,
                    .log_rate = weights + slots.log_rate.offset,
                    .time_bias = weights + slots.time_bias.offset},
          .rule = {.net = net,
                   .sequences = job_.micro_batch,
                   .length = job_.seq_len,
                   .part = planner::delta_part(net, job_.micro_batch, job_.seq_len),
                   .starts = starts,
                   .mixed = bf16(delta_at(workspace, space_.delta.mixed)),
                   .g = floats(space_.delta.decay),
                   .beta = floats(space_.delta.beta),
                   .lengths = floats(space_.delta.lengths),
                   .scratch = delta_at(workspace, space_.delta.rule)},
          .norm = {.tokens = tokens,
                   .heads = net.value_heads,
                   .cols = net.value_dim,
                   .gate_row = row,
                   .x = bf16(record.at(layer.layout.attention)),
                   .z = gate,
                   .weight = weights + slots.norm.offset,
                   .eps = static_cast<float>(job_.model.rms_eps)},
          .rows = rows};
}

/// The rule's inputs: where documents begin, the convolution's output, decays and rates.
void CudaTemplates::mix_inputs(cudaStream_t stream, const std::uint16_t* weights,
                               const CudaRecord& record, const DeltaCall& call,
                               std::byte* workspace) const {
  if (record.documents != nullptr) {
    cuda::document_starts(
        stream, record.documents, job_.micro_batch, job_.seq_len,
        reinterpret_cast<std::int32_t*>(delta_at(workspace, space_.delta.starts)));
  }
  cuda::delta_conv(stream, call.conv, call.rows, weights + layer_of(record).slots.delta.conv.offset,
                   bf16(delta_at(workspace, space_.delta.mixed)));
  cuda::delta_gates(stream, call.gates, fp32(delta_at(workspace, space_.delta.decay)),
                    fp32(delta_at(workspace, space_.delta.beta)));
}

/// Projections, convolution and rule: writes the record from q to the rule's output.
void CudaTemplates::mix(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
                        std::byte* workspace) {
  project_delta(stream, weights, record, tokens_, workspace);
  const DeltaCall call = delta_call(weights, record, tokens_, workspace);
  mix_inputs(stream, weights, record, call, workspace);
  cuda::delta_rule(stream, call.rule, bf16(record.at(layer_of(record).layout.attention)));
}

/// The same for tokens that continue a sequence, from its window and state in `kept`, which move
/// on.
void CudaTemplates::mix_kept(cudaStream_t stream, const std::uint16_t* weights,
                             const CudaRecord& record, const CudaKeptKeys& kept,
                             std::byte* workspace) {
  const CudaLayer& layer = layer_of(record);
  const planner::DeltaNet& net = *layer.shape.delta_net;
  auto* window = reinterpret_cast<float*>(kept.data);
  float* state = window + (planner::kDeltaTaps - 1) * net.channels();
  if (kept.first == 0) {
    const auto bytes = static_cast<std::size_t>(state + net.state() - window) * sizeof(float);
    check_cuda(cudaMemsetAsync(window, 0, bytes, stream), "state of a gated delta net");
  }
  project_delta(stream, weights, record, kept.count, workspace);
  const DeltaCall call = delta_call(weights, record, kept.count, workspace);
  cuda::delta_conv_extend(stream, call.conv, call.rows, weights + layer.slots.delta.conv.offset,
                          window, bf16(delta_at(workspace, space_.delta.mixed)));
  cuda::delta_gates(stream, call.gates, fp32(delta_at(workspace, space_.delta.decay)),
                    fp32(delta_at(workspace, space_.delta.beta)));
  cuda::delta_rule_extend(stream, call.rule, kept.count, state,
                          bf16(record.at(layer.layout.attention)));
}

const std::uint16_t* CudaTemplates::normed_mix(cudaStream_t stream, const std::uint16_t* weights,
                                               const CudaRecord& record, std::int64_t tokens,
                                               std::byte* workspace) const {
  std::uint16_t* output = bf16(delta_at(workspace, space_.delta.output));
  cuda::gated_norm(stream, delta_call(weights, record, tokens, workspace).norm, output);
  return output;
}

/// The norm, the rule, and what is before it: leaves the gradients of projections in the
/// workspace, from that of the norm's output.
void CudaTemplates::backward_mix(cudaStream_t stream, const std::uint16_t* weights, float* gradient,
                                 cuda::Into into, const CudaRecord& record, std::byte* workspace) {
  const CudaLayer& layer = layer_of(record);
  const planner::DeltaNet& net = *layer.shape.delta_net;
  const DeltaSlots& slots = layer.slots.delta;
  const DeltaCall call = delta_call(weights, record, tokens_, workspace);
  std::byte* partials = workspace + space_.partials.count();
  std::uint16_t* d_output = bf16(delta_at(workspace, space_.delta.d_output));
  std::uint16_t* d_rows = bf16(delta_at(workspace, space_.delta.d_rows));
  std::uint16_t* d_mixed = bf16(delta_at(workspace, space_.delta.d_mixed));
  float* d_decay = fp32(delta_at(workspace, space_.delta.d_decay));
  float* d_beta = fp32(delta_at(workspace, space_.delta.d_beta));
  std::uint16_t* d_gate = d_rows + net.channels();
  std::uint16_t* d_rates = d_gate + net.values();
  cuda::gated_norm_backward(stream, call.norm, d_output, d_gate, gradient + slots.norm.offset, into,
                            partials);
  mix_inputs(stream, weights, record, call, workspace);
  cuda::delta_rule_backward(stream, call.rule, d_output,
                            {.mixed = d_mixed, .g = d_decay, .beta = d_beta});
  cuda::delta_gates_backward(stream, call.gates, d_decay, d_beta,
                             {.d_b = d_rates,
                              .d_a = d_rates + net.value_heads,
                              .log_rate = gradient + slots.log_rate.offset,
                              .time_bias = gradient + slots.time_bias.offset,
                              .into = into});
  cuda::delta_conv_backward(stream, call.conv, call.rows, weights + slots.conv.offset, d_mixed,
                            d_rows, gradient + slots.conv.offset, into, partials);
}

void CudaTemplates::backward_delta(cudaStream_t stream, const std::uint16_t* weights,
                                   float* gradient, cuda::Into into, const CudaRecord& record,
                                   std::uint16_t* d_stream, std::byte* workspace) {
  const CudaLayer& layer = layer_of(record);
  const BlockSlots& slots = layer.slots;
  const planner::DeltaNet& net = *layer.shape.delta_net;
  const bool first = into == cuda::Into::overwrite;
  std::byte* gemm = workspace + space_.gemm.count();
  const CudaGemm::Size out{tokens_, net.values(), hidden_};
  const CudaGemm::Size in{tokens_, hidden_, planner::delta_row(net)};
  const NormInput output = norm_input(weights, slots.norm_after_attention,
                                      bf16(record.at(layout_.attention_output)), tokens_);
  const std::uint16_t* d = branch_gradient(stream, output, slots.norm_after_attention, d_stream,
                                           gradient, into, workspace);
  gemm_.weight_gradient(stream, out, d, normed_mix(stream, weights, record, tokens_, workspace),
                        gradient + slots.o.weight.offset, first, gemm);
  gemm_.input_gradient(stream, out, d, weights + slots.o.weight.offset,
                       delta_at(workspace, space_.delta.d_output), gemm);
  backward_mix(stream, weights, gradient, into, record, workspace);
  const NormInput norm =
      norm_input(weights, slots.norm_before_attention, bf16(record.input), tokens_);
  const std::uint16_t* normed = normalize(stream, norm, workspace);
  const std::byte* d_rows = delta_at(workspace, space_.delta.d_rows);
  gemm_.weight_gradient(stream, in, d_rows, normed, gradient + slots.q.weight.offset, first, gemm);
  gemm_.input_gradient(stream, in, d_rows, weights + slots.q.weight.offset,
                       workspace + space_.d_normed.count(), gemm);
  add_norm_backward(stream, norm, slots.norm_before_attention, gradient, into, d_stream, workspace);
}

}  // namespace sluice::engine
