// A block's MLP, forward and backward, in chunks of a job's mlp_chunk tokens. An MLP in one chunk
// has gate and up in the block's record; one in several has a chunk's in the workspace, and its
// backward pass computes them again.
#include <algorithm>

#include "engine/cuda/kernels/swiglu.hpp"
#include "engine/cuda/layers/templates.hpp"
#include "engine/cuda/layers/views.hpp"

namespace sluice::engine {

CudaTemplates::MlpChunk CudaTemplates::mlp_chunk(const CudaRecord& record, Span rows,
                                                 std::byte* workspace) const {
  std::byte* expanded = job_.chunks_mlp()
                            ? workspace + space_.gate_up.count()
                            : record.at(layout_.gate) + 4 * rows.first * intermediate_;
  return {.rows = rows,
          .residual = bf16(record.at(layout_.residual)) + rows.first * hidden_,
          .gate_up = bf16(expanded)};
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
  normalize(stream, post_norm(weights, chunk.residual, chunk.rows.count), workspace);
  gemm_.forward(stream, {chunk.rows.count, hidden_, 2 * intermediate_},
                workspace + space_.normed.count(), weights + slots_.gate.weight.offset,
                vector_of(weights, slots_.gate.bias), nullptr, chunk.gate_up,
                workspace + space_.gemm.count());
}

/// SwiGLU, down projection and residual of a chunk.
void CudaTemplates::contract(cudaStream_t stream, const std::uint16_t* weights,
                             const MlpChunk& chunk, std::byte* next_input, std::byte* workspace) {
  std::byte* activation = workspace + space_.activation.count();
  cuda::swiglu(stream, {chunk.gate_up, chunk.gate_up + intermediate_, 2 * intermediate_},
               chunk.rows.count, intermediate_, bf16(activation));
  gemm_.forward(stream, {chunk.rows.count, intermediate_, hidden_}, activation,
                weights + slots_.down.weight.offset, vector_of(weights, slots_.down.bias),
                chunk.residual, bf16(next_input) + chunk.rows.first * hidden_,
                workspace + space_.gemm.count());
}

void CudaTemplates::feed_forward(cudaStream_t stream, const std::uint16_t* weights,
                                 const CudaRecord& record, Span span, std::byte* next_input,
                                 std::byte* workspace) {
  if (job_.model.experts) {
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
  if (job_.model.experts) {
    project_router(stream, weights, record, all_tokens(), workspace);
    return expand_experts(stream, weights, record, all_tokens(), workspace);
  }
  if (job_.chunks_mlp()) return;  // The backward pass rebuilds it chunk by chunk.
  expand(stream, weights, mlp_chunk(record, all_tokens(), workspace), workspace);
}

void CudaTemplates::backward_mlp(cudaStream_t stream, const std::uint16_t* weights, float* gradient,
                                 cuda::Into into, const CudaRecord& record, std::uint16_t* d_stream,
                                 std::byte* workspace) {
  if (job_.model.experts) {
    return backward_experts(stream, weights, gradient, into, record, d_stream, workspace);
  }
  for_mlp_chunks(record, tokens_, workspace, [&](const MlpChunk& chunk) {
    if (job_.chunks_mlp()) expand(stream, weights, chunk, workspace);
    backward_chunk(stream, weights, gradient, chunk.rows.first == 0 ? into : cuda::Into::accumulate,
                   chunk, d_stream + chunk.rows.first * hidden_, workspace);
  });
}

void CudaTemplates::backward_chunk(cudaStream_t stream, const std::uint16_t* weights,
                                   float* gradient, cuda::Into into, const MlpChunk& chunk,
                                   std::uint16_t* d_stream, std::byte* workspace) {
  const bool first = into == cuda::Into::overwrite;
  const std::int64_t tokens = chunk.rows.count;
  const NormInput norm = post_norm(weights, chunk.residual, tokens);
  std::byte* gemm = workspace + space_.gemm.count();
  std::byte* normed = workspace + space_.normed.count();
  std::byte* d_normed = workspace + space_.d_normed.count();
  std::uint16_t* activation = bf16(workspace + space_.activation.count());
  std::uint16_t* d_gate_up = bf16(workspace + space_.d_gate_up.count());

  gemm_.input_gradient(stream, {tokens, intermediate_, hidden_}, d_stream,
                       weights + slots_.down.weight.offset, activation, gemm);
  cuda::swiglu_backward(stream, {chunk.gate_up, chunk.gate_up + intermediate_, 2 * intermediate_},
                        activation, tokens, intermediate_,
                        {.d_gate = d_gate_up,
                         .d_up = d_gate_up + intermediate_,
                         .stride = 2 * intermediate_,
                         .activation = activation});
  gemm_.weight_gradient(stream, {tokens, intermediate_, hidden_}, d_stream, activation,
                        gradient + slots_.down.weight.offset, first, gemm);
  bias_gradient(stream, slots_.down.bias, d_stream, tokens, hidden_, gradient, into, workspace);
  if (!job_.chunks_mlp()) normalize(stream, norm, workspace);
  gemm_.weight_gradient(stream, {tokens, hidden_, 2 * intermediate_}, d_gate_up, normed,
                        gradient + slots_.gate.weight.offset, first, gemm);
  bias_gradient(stream, slots_.gate.bias, d_gate_up, tokens, 2 * intermediate_, gradient, into,
                workspace);
  gemm_.input_gradient(stream, {tokens, hidden_, 2 * intermediate_}, d_gate_up,
                       weights + slots_.gate.weight.offset, d_normed, gemm);
  add_norm_backward(stream, norm, slots_.norm_before_mlp, gradient, into, d_stream, workspace);
}

}  // namespace sluice::engine
