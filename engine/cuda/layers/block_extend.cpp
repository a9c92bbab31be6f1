// Forward pass of tokens that continue a sequence, over its kept keys and values.
#include "engine/cuda/kernels/kept_keys.hpp"
#include "engine/cuda/kernels/loss.hpp"
#include "engine/cuda/layers/templates.hpp"
#include "engine/cuda/layers/views.hpp"
#include "engine/cuda/runtime/check.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

/// Copies rows of `width` bf16 elements, which lie `from_row` elements apart, to rows without gaps.
void pack_rows(cudaStream_t stream, const std::uint16_t* from, std::int64_t from_row,
               std::int64_t width, std::int64_t rows, std::uint16_t* to) {
  const auto bytes = 2 * static_cast<std::size_t>(width);
  check_cuda(cudaMemcpy2DAsync(to, bytes, from, 2 * static_cast<std::size_t>(from_row), bytes,
                               static_cast<std::size_t>(rows), cudaMemcpyDeviceToDevice, stream),
             "kept keys and values");
}

}  // namespace

void CudaTemplates::extend(cudaStream_t stream, const std::uint16_t* weights,
                           const CudaRecord& record, const CudaKeptKeys& kept,
                           std::byte* workspace) {
  check(kept.count > 0 && kept.count <= tokens_ && kept.first + kept.count <= job_.seq_len,
        "kept keys have room for the tokens");
  const Span span{kept.first, kept.count};
  const CudaLayer& layer = layer_of(record);
  if (layer.is_delta_net()) {
    mix_kept(stream, weights, record, kept, workspace);
    return project_out(stream, weights, record, span, workspace);
  }
  const std::uint16_t* rotated = bf16(workspace + space_.rotated.count());
  project_qkv(stream, weights, record, span, workspace);
  rotate(stream, weights, record, span, nullptr, workspace + space_.rotated.count());
  const std::int64_t value_dim =
      layer.is_latent() ? layer.shape.latent->value : job_.model.head_dim;
  const std::int64_t values_row = job_.model.kv_heads * value_dim;
  std::uint16_t* values = kept.data + job_.seq_len * key_;
  pack_rows(stream, rotated + query_, qkv_, key_, kept.count, kept.data + kept.first * key_);
  std::uint16_t* new_values = values + kept.first * values_row;
  if (layer.widens_values()) {
    const std::int64_t row = layer.slots.k.weight.rows + layer.slots.v.weight.rows;
    pack_rows(stream, bf16(record.at(layer.layout.k)) + layer.slots.k.weight.rows, row, values_row,
              kept.count, new_values);
  } else {
    pack_rows(stream, rotated + query_ + key_, qkv_, key_, kept.count, new_values);
  }
  cuda::attend_kept(
      stream,
      {.first = kept.first,
       .count = kept.count,
       .heads = job_.model.heads,
       .kv_heads = job_.model.kv_heads,
       .head_dim = job_.model.head_dim,
       .value_dim = value_dim,
       .window = layer.shape.kinds.front().window,
       .scale = static_cast<float>(planner::attention_scale(layer.shape)),
       .softcap = static_cast<float>(layer.shape.scales.attention_softcap.value_or(0)),
       .sinks = vector_of(weights, layer.slots.sinks)},
      rotated, qkv_, kept.data, values, bf16(record.at(layer.layout.attention)));
  project_out(stream, weights, record, span, workspace);
}

void CudaTemplates::block_extend(cudaStream_t stream, const std::uint16_t* weights,
                                 const CudaRecord& record, const CudaKeptKeys& kept,
                                 std::byte* next_input, std::byte* workspace) {
  extend(stream, weights, record, kept, workspace);
  feed_forward(stream, weights, record, {kept.first, kept.count}, next_input, workspace);
}

void CudaTemplates::logits(cudaStream_t stream, const std::uint16_t* head,
                           const std::uint16_t* lm_head, const std::byte* input, float* logits,
                           std::byte* workspace) {
  float* values = fp32(workspace + space_.logits.count());
  const std::int64_t vocab = job_.model.vocab;
  normalize(stream, {bf16(input), head + ends_.final_norm.offset, 1}, workspace);
  cuda::row_logits(stream, lm_head, bf16(workspace + space_.normed.count()), vocab, hidden_,
                   values);
  if (logit_change_.changes()) cuda::change_logits(stream, logit_change_, vocab, values);
  check_cuda(cudaMemcpyAsync(logits, values, static_cast<std::size_t>(vocab) * sizeof(float),
                             cudaMemcpyDefault, stream),
             "logits");
}

}  // namespace sluice::engine
