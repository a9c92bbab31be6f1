// A block's dense MLP, forward and backward, in chunks of a job's mlp_chunk tokens. An MLP in one
// chunk has gate and up in the block's record; one in several has a chunk's in the workspace, and
// its backward pass computes them again.
#include <algorithm>

#include "engine/cuda/kernels/activation.hpp"
#include "engine/cuda/layers/templates.hpp"
#include "engine/cuda/layers/views.hpp"

namespace sluice::engine {

namespace {

/// Rows of gate and up, of `width` elements each.
cuda::GateUp rows_of(const CudaLayer& layer, const std::uint16_t* gate_up) {
  const std::int64_t width = layer.shape.intermediate;
  if (!layer.gated()) return {nullptr, gate_up, width};
  return {gate_up, gate_up + width, 2 * width};
}

}  // namespace

CudaTemplates::MlpChunk CudaTemplates::mlp_chunk(const CudaRecord& record, Span rows,
                                                 std::byte* workspace) const {
  const CudaLayer& layer = layer_of(record);
  std::byte* expanded = job_.chunks_mlp()
                            ? workspace + space_.gate_up.count()
                            : record.at(layout_.gate) + 2 * rows.first * layer.expanded();
  const Slot& norm = layer.slots.norm_after_mlp;
  const std::int64_t kept_rows = norm.exists() ? rows.first : 0;
  return {
      .layer = layer,
      .rows = rows,
      .residual = bf16(record.at(layout_.residual)) + rows.first * hidden_,
      .gate_up = bf16(expanded),
      .output = branch_output(record, norm, layout_.mlp_output, workspace) + kept_rows * hidden_,
      .fp8 = in_fp8(record)};
}

template <class Body>
void CudaTemplates::for_mlp_chunks(const CudaRecord& record, std::int64_t tokens,
                                   std::byte* workspace, Body body) const {
  const std::int64_t most = job_.mlp_tokens();
  for (std::int64_t first = 0; first < tokens; first += most) {
    body(mlp_chunk(record, {first, std::min(most, tokens - first)}, workspace));
  }
}

/// Norm, gate and up of a chunk.
void CudaTemplates::expand(cudaStream_t stream, const std::uint16_t* weights, const MlpChunk& chunk,
                           std::byte* workspace) {
  const CudaLayer& layer = chunk.layer;
  const std::uint16_t* normed = normalize(
      stream, norm_input(weights, layer.slots.norm_before_mlp, chunk.residual, chunk.rows.count),
      workspace);
  multiply(stream, weights,
           {.size = {chunk.rows.count, hidden_, layer.expanded()},
            .x = normed,
            .projection = layer.expansion(),
            .addend = nullptr,
            .y = chunk.gate_up,
            .fp8 = chunk.fp8},
           workspace);
}

const std::uint16_t* CudaTemplates::activate(cudaStream_t stream, const MlpChunk& chunk,
                                             std::byte* workspace) const {
  const CudaLayer& layer = chunk.layer;
  const std::int64_t width = layer.shape.intermediate;
  if (chunk.fp8) {
    cuda::quantize_activation(stream, layer.shape.activation, chunk.gate_up, chunk.rows.count,
                              width, layer.expanded(),
                              {.along = fp8_at(space_.fp8.x, space_.fp8.x_scales, workspace)});
    return nullptr;
  }
  std::uint16_t* activation = bf16(workspace + space_.activation.count());
  cuda::activate(stream, layer.shape.activation, rows_of(layer, chunk.gate_up), chunk.rows.count,
                 width, activation);
  return activation;
}

/// Activation, down projection and residual of a chunk.
void CudaTemplates::contract(cudaStream_t stream, const std::uint16_t* weights,
                             const MlpChunk& chunk, std::byte* next_input, std::byte* workspace) {
  const CudaLayer& layer = chunk.layer;
  const std::int64_t width = layer.shape.intermediate;
  const std::uint16_t* activation = activate(stream, chunk, workspace);
  multiply_onto_stream(stream, weights,
                       {.size = {chunk.rows.count, width, hidden_},
                        .x = activation,
                        .projection = layer.slots.down,
                        .norm = layer.slots.norm_after_mlp,
                        .stream = chunk.residual,
                        .output = chunk.output,
                        .next = bf16(next_input) + chunk.rows.first * hidden_,
                        .fp8 = chunk.fp8},
                       workspace);
}

void CudaTemplates::rebuild_output(cudaStream_t stream, const std::uint16_t* weights,
                                   const MlpChunk& chunk, std::byte* workspace) {
  const CudaLayer& layer = chunk.layer;
  if (!layer.slots.norm_after_mlp.exists()) return;
  const std::int64_t width = layer.shape.intermediate;
  multiply(stream, weights,
           {.size = {chunk.rows.count, width, hidden_},
            .x = activate(stream, chunk, workspace),
            .projection = layer.slots.down,
            .addend = nullptr,
            .y = chunk.output,
            .fp8 = chunk.fp8},
           workspace);
}

void CudaTemplates::feed_forward(cudaStream_t stream, const std::uint16_t* weights,
                                 const CudaRecord& record, Span span, std::byte* next_input,
                                 std::byte* workspace) {
  if (layer_of(record).shape.experts) {
    project_router(stream, weights, record, span, workspace);
    expand_experts(stream, weights, record, span, workspace);
    return contract_experts(stream, weights, record, span, next_input, workspace);
  }
  for_mlp_chunks(record, span.count, workspace, [&](const MlpChunk& chunk) {
    expand(stream, weights, chunk, workspace);
    contract(stream, weights, chunk, next_input, workspace);
  });
}

void CudaTemplates::rebuild_mlp(cudaStream_t stream, const std::uint16_t* weights,
                                const CudaRecord& record, std::byte* workspace) {
  if (layer_of(record).shape.experts) {
    project_router(stream, weights, record, all_tokens(), workspace);
    return expand_experts(stream, weights, record, all_tokens(), workspace);
  }
  if (job_.chunks_mlp()) return;  // The backward pass rebuilds it chunk by chunk.
  const MlpChunk chunk = mlp_chunk(record, all_tokens(), workspace);
  expand(stream, weights, chunk, workspace);
  rebuild_output(stream, weights, chunk, workspace);
}

void CudaTemplates::backward_mlp(cudaStream_t stream, const std::uint16_t* weights, float* gradient,
                                 cuda::Into into, const CudaRecord& record, std::uint16_t* d_stream,
                                 std::byte* workspace) {
  if (layer_of(record).shape.experts) {
    return backward_experts(stream, weights, gradient, into, record, d_stream, workspace);
  }
  for_mlp_chunks(record, tokens_, workspace, [&](const MlpChunk& chunk) {
    if (job_.chunks_mlp()) {
      expand(stream, weights, chunk, workspace);
      rebuild_output(stream, weights, chunk, workspace);
    }
    backward_chunk(stream, weights, gradient, chunk.rows.first == 0 ? into : cuda::Into::accumulate,
                   chunk, d_stream + chunk.rows.first * hidden_, workspace);
  });
}

CudaTemplates::ResultGradient CudaTemplates::quantized_expansion_gradient(
    cudaStream_t stream, const MlpChunk& chunk, const std::uint16_t* d_activation,
    std::byte* workspace) const {
  const CudaLayer& layer = chunk.layer;
  const std::int64_t tokens = chunk.rows.count, width = layer.shape.intermediate;
  const std::int64_t elements = tokens * layer.expanded();
  std::byte* const turned = workspace + space_.d_gate_up.count();
  const ResultGradient d{
      .size = {tokens, hidden_, layer.expanded()},
      .fp8 = true,
      .along = fp8_at(space_.fp8.d, space_.fp8.d_scales, workspace),
      .across = {reinterpret_cast<std::uint8_t*>(turned), fp32(turned + elements), tensorwise()}};
  cuda::quantize_activation_backward(
      stream, layer.shape.activation, rows_of(layer, chunk.gate_up), d_activation, tokens, width,
      {.along = d.along, .across = d.across}, fp8_at(space_.fp8.x, space_.fp8.x_scales, workspace));
  return d;
}

void CudaTemplates::backward_chunk(cudaStream_t stream, const std::uint16_t* weights,
                                   float* gradient, cuda::Into into, const MlpChunk& chunk,
                                   std::uint16_t* d_stream, std::byte* workspace) {
  const CudaLayer& layer = chunk.layer;
  const BlockSlots& slots = layer.slots;
  const bool first = into == cuda::Into::overwrite;
  const std::int64_t tokens = chunk.rows.count, width = layer.shape.intermediate;
  const CudaGemm::Size in{tokens, hidden_, layer.expanded()}, out{tokens, width, hidden_};
  const Projection& expansion = layer.expansion();
  std::uint16_t* activation = bf16(workspace + space_.activation.count());
  std::uint16_t* d_gate_up = bf16(workspace + space_.d_gate_up.count());
  // A bias's gradient sums what only an unquantized gradient has.
  const bool quantized = chunk.fp8 && !expansion.bias.exists();

  const std::uint16_t* d =
      branch_gradient(stream, norm_input(weights, slots.norm_after_mlp, chunk.output, tokens),
                      slots.norm_after_mlp, d_stream, gradient, into, workspace);
  const ResultGradient d_out = result_gradient(stream, out, d, chunk.fp8, workspace);
  multiply_back(stream, weights, d_out, slots.down.weight, activation, workspace);
  ResultGradient d_in{.size = in, .fp8 = quantized};
  if (quantized) {
    d_in = quantized_expansion_gradient(stream, chunk, activation, workspace);
  } else {
    cuda::activate_backward(stream, layer.shape.activation, rows_of(layer, chunk.gate_up),
                            activation, tokens, width,
                            {.d_gate = d_gate_up,
                             .d_up = layer.gated() ? d_gate_up + width : d_gate_up,
                             .stride = layer.expanded(),
                             .activation = activation});
  }
  add_weight_gradient(stream, d_out, quantized ? nullptr : activation, slots.down.weight, gradient,
                      first, workspace);
  bias_gradient(stream, slots.down.bias, d, tokens, hidden_, gradient, into, workspace);
  const NormInput norm = norm_input(weights, slots.norm_before_mlp, chunk.residual, tokens);
  const std::uint16_t* normed = normalize(stream, norm, workspace);
  if (!quantized) d_in = result_gradient(stream, in, d_gate_up, chunk.fp8, workspace);
  add_weight_gradient(stream, d_in, normed, expansion.weight, gradient, first, workspace);
  bias_gradient(stream, expansion.bias, d_gate_up, tokens, layer.expanded(), gradient, into,
                workspace);
  multiply_back(stream, weights, d_in, expansion.weight, workspace + space_.d_normed.count(),
                workspace);
  add_norm_backward(stream, norm, slots.norm_before_mlp, gradient, into, d_stream, workspace);
}

}  // namespace sluice::engine
