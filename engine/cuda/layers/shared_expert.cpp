// The expert that every token passes through beside those that its router chooses, as products of
// the library. Its rows of gate and up lie in the record behind those of all routes.
#include "engine/cuda/kernels/activation.hpp"
#include "engine/cuda/kernels/expert_product.hpp"
#include "engine/cuda/kernels/residual.hpp"
#include "engine/cuda/kernels/routes.hpp"
#include "engine/cuda/kernels/shared_switch.hpp"
#include "engine/cuda/layers/templates.hpp"
#include "engine/cuda/layers/views.hpp"

namespace sluice::engine {
namespace {

/// Elements of rows of `width` elements for every route, behind which the shared expert's lie.
std::int64_t behind_routes(const planner::Experts& experts, std::int64_t tokens) {
  return tokens * experts.active * experts.intermediate;
}

}  // namespace

void CudaTemplates::expand_shared(cudaStream_t stream, const std::uint16_t* weights,
                                  const CudaRecord& record, std::int64_t tokens,
                                  std::byte* workspace) {
  const CudaLayer& layer = layer_of(record);
  const planner::Experts& experts = *layer.shape.experts;
  if (experts.shared_intermediate == 0) return;
  gemm_.forward(stream, {tokens, hidden_, 2 * experts.shared_intermediate},
                workspace + space_.normed.count(), weights + layer.slots.gate.weight.offset,
                nullptr, nullptr,
                bf16(record.at(layout_.gate)) + 2 * behind_routes(experts, tokens),
                workspace + space_.gemm.count());
}

/// The sigmoid of the normed tokens' product with the switch's row.
void CudaTemplates::switch_shares(cudaStream_t stream, const std::uint16_t* weights,
                                  const CudaLayer& layer, std::int64_t tokens,
                                  std::byte* workspace) const {
  float* shares = fp32(workspace + space_.routes.switch_share.count());
  const std::uint16_t* normed = bf16(workspace + space_.normed.count());
  cuda::multiply_rows(stream, {normed, nullptr, hidden_}, {.rows = tokens},
                      {weights + layer.slots.shared_switch.offset, 0}, hidden_, 1, shares);
  cuda::switch_shares(stream, tokens, shares);
}

const std::uint16_t* CudaTemplates::contract_shared(cudaStream_t stream,
                                                    const std::uint16_t* weights,
                                                    const CudaRecord& record, std::int64_t tokens,
                                                    std::byte* workspace) {
  const CudaLayer& layer = layer_of(record);
  const planner::Experts& experts = *layer.shape.experts;
  const std::int64_t width = experts.shared_intermediate;
  if (width == 0) return nullptr;
  const std::int64_t behind = behind_routes(experts, tokens);
  const std::uint16_t* gate_up = bf16(record.at(layout_.gate)) + 2 * behind;
  std::uint16_t* activation = bf16(workspace + space_.activation.count()) + behind;
  std::uint16_t* shared = bf16(workspace + space_.routes.shared.count());
  if (layer.slots.shared_switch.exists()) {
    switch_shares(stream, weights, layer, tokens, workspace);
    cuda::weighted_activation(stream, layer.shape.activation, gate_up,
                              fp32(workspace + space_.routes.switch_share.count()), tokens, width,
                              activation);
  } else {
    cuda::activate(stream, layer.shape.activation, {gate_up, gate_up + width, 2 * width}, tokens,
                   width, activation);
  }
  gemm_.forward(stream, {tokens, width, hidden_}, activation,
                weights + layer.slots.down.weight.offset, nullptr, nullptr, shared,
                workspace + space_.gemm.count());
  return shared;
}

const std::uint16_t* CudaTemplates::backward_shared(cudaStream_t stream,
                                                    const std::uint16_t* weights, float* gradient,
                                                    cuda::Into into, const CudaRecord& record,
                                                    const std::uint16_t* d, std::byte* workspace) {
  const CudaLayer& layer = layer_of(record);
  const planner::Experts& experts = *layer.shape.experts;
  const std::int64_t width = experts.shared_intermediate;
  if (width == 0) return nullptr;
  const BlockSlots& slots = layer.slots;
  const bool first = into == cuda::Into::overwrite;
  const std::int64_t behind = behind_routes(experts, tokens_);
  const CudaGemm::Size in{tokens_, hidden_, 2 * width}, out{tokens_, width, hidden_};
  std::byte* gemm = workspace + space_.gemm.count();
  const std::uint16_t* normed = bf16(workspace + space_.normed.count());
  const std::uint16_t* gate_up = bf16(record.at(layout_.gate)) + 2 * behind;
  std::uint16_t* activation = bf16(workspace + space_.activation.count()) + behind;
  std::uint16_t* d_gate_up = bf16(workspace + space_.d_gate_up.count()) + 2 * behind;
  std::uint16_t* d_shared = bf16(workspace + space_.routes.shared.count());
  const bool switched = slots.shared_switch.exists();

  gemm_.input_gradient(stream, out, d, weights + slots.down.weight.offset, activation, gemm);
  if (switched) {
    switch_shares(stream, weights, layer, tokens_, workspace);
    cuda::weighted_activation_backward(stream, layer.shape.activation, gate_up,
                                       fp32(workspace + space_.routes.switch_share.count()),
                                       tokens_, width, activation, d_gate_up,
                                       fp32(workspace + space_.routes.d_switch_share.count()));
  } else {
    cuda::activate_backward(stream, layer.shape.activation, {gate_up, gate_up + width, 2 * width},
                            activation, tokens_, width,
                            {.d_gate = d_gate_up,
                             .d_up = d_gate_up + width,
                             .stride = 2 * width,
                             .activation = activation});
  }
  gemm_.weight_gradient(stream, out, d, activation, gradient + slots.down.weight.offset, first,
                        gemm);
  gemm_.weight_gradient(stream, in, d_gate_up, normed, gradient + slots.gate.weight.offset, first,
                        gemm);
  gemm_.input_gradient(stream, in, d_gate_up, weights + slots.gate.weight.offset, d_shared, gemm);
  if (switched) backward_switch(stream, weights, gradient, into, layer, workspace);
  return d_shared;
}

/// Gradient of the switch's row, and what the switch adds to the gradient of its input.
void CudaTemplates::backward_switch(cudaStream_t stream, const std::uint16_t* weights,
                                    float* gradient, cuda::Into into, const CudaLayer& layer,
                                    std::byte* workspace) const {
  const std::int64_t row = planner::router_row(1);
  const std::int64_t place = layer.slots.shared_switch.offset;
  const cuda::RowGroups all_tokens{.rows = tokens_};
  const std::uint16_t* normed = bf16(workspace + space_.normed.count());
  std::uint16_t* d_logits = bf16(workspace + space_.routes.d_switch.count());
  std::uint16_t* d_shared = bf16(workspace + space_.routes.shared.count());
  std::uint16_t* part = bf16(workspace + space_.d_normed.count());
  cuda::switch_shares_backward(stream, fp32(workspace + space_.routes.switch_share.count()),
                               fp32(workspace + space_.routes.d_switch_share.count()), tokens_,
                               d_logits);
  cuda::accumulate_rows(stream, {d_logits, nullptr, row}, {normed, nullptr, hidden_}, all_tokens,
                        {gradient + place, 0}, hidden_, 1, into);
  cuda::multiply_rows_transposed(stream, {d_logits, nullptr, row}, all_tokens, {weights + place, 0},
                                 hidden_, 1, part);
  cuda::join(stream, d_shared, part, 1, tokens_ * hidden_, d_shared);
}

}  // namespace sluice::engine
