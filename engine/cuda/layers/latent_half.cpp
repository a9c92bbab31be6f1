#include "engine/cuda/layers/latent_half.hpp"

#include "engine/cuda/kernels/residual.hpp"
#include "engine/cuda/layers/views.hpp"

namespace sluice::engine {
namespace {

/// Keys and values of the narrow projection, whose matrices are neighbours, as one.
Projection keys_and_values(const BlockSlots& slots) {
  Projection both = slots.k;
  both.weight.rows += slots.v.weight.rows;
  return both;
}

}  // namespace

CudaTemplates::LatentHalf::LatentHalf(CudaTemplates& templates, cudaStream_t stream,
                                      const std::uint16_t* weights, const CudaRecord& record,
                                      std::byte* workspace)
    : templates_(templates),
      stream_(stream),
      weights_(weights),
      record_(record),
      workspace_(workspace),
      layer_(templates.layer_of(record)),
      space_(templates.space_.latent) {}

std::uint16_t* CudaTemplates::LatentHalf::at(Bytes offset) const {
  return bf16(workspace_ + offset.count());
}

const std::uint16_t* CudaTemplates::LatentHalf::recorded(Bytes offset) const {
  return bf16(record_.at(offset));
}

const std::uint16_t* CudaTemplates::LatentHalf::normalize_narrow(const Narrow& narrow,
                                                                 std::int64_t tokens) const {
  std::uint16_t* normed = at(space_.normed);
  cuda::rms_norm(stream_, narrow.x, weights_ + narrow.norm.offset,
                 static_cast<float>(layer_.shape.latent->norm_eps), tokens, narrow.norm.cols,
                 normed, fp32(workspace_ + space_.rstd.count()), templates_.norm_factor());
  return normed;
}

void CudaTemplates::LatentHalf::project(std::int64_t tokens) {
  const BlockSlots& slots = layer_.slots;
  const planner::BlockRecord& layout = layer_.layout;
  const auto one = [&](const Projection& projection, const std::uint16_t* x, Bytes y) {
    templates_.multiply(stream_, weights_,
                        {.size = {tokens, projection.weight.cols, projection.weight.rows},
                         .x = x,
                         .projection = projection,
                         .addend = nullptr,
                         .y = record_.at(y),
                         .fp8 = false},
                        workspace_);
  };
  const auto normed_again = [&](const Slot& norm, Bytes x) {
    return normalize_narrow({norm, recorded(x)}, tokens);
  };
  const std::uint16_t* normed = templates_.normalize(
      stream_, norm_input(weights_, slots.norm_before_attention, bf16(record_.input), tokens),
      workspace_);
  one(slots.latent.key, normed, layout.kv_latent);
  one(slots.latent.shared, normed, layout.shared_key);
  if (slots.latent.query.weight.exists()) {
    one(slots.latent.query, normed, layout.q_latent);
    one(slots.q, normed_again(slots.latent.query_norm, layout.q_latent), layout.q);
  } else {
    one(slots.q, normed, layout.q);
  }
  // Rows [k v] take the places of both in the record.
  one(keys_and_values(slots), normed_again(slots.latent.key_norm, layout.kv_latent), layout.k);
}

cuda::LatentHeads CudaTemplates::LatentHalf::heads(Span span, const std::int32_t* starts) const {
  const planner::LatentAttention& latent = *layer_.shape.latent;
  return {.columns = {.heads = static_cast<int>(layer_.shape.heads),
                      .plain = static_cast<int>(latent.plain),
                      .rotated = static_cast<int>(latent.rotated),
                      .value = static_cast<int>(latent.value)},
          .tokens = span.count,
          .first = span.first,
          .seq_len = templates_.job_.seq_len,
          .starts = starts};
}

void CudaTemplates::LatentHalf::rotate(Span span, const std::int32_t* starts,
                                       std::uint16_t* rotated) const {
  const planner::BlockRecord& layout = layer_.layout;
  cuda::latent_heads(stream_, heads(span, starts), layer_.tables,
                     {.query = recorded(layout.q),
                      .shared_key = recorded(layout.shared_key),
                      .key_value = recorded(layout.k)},
                     rotated);
}

void CudaTemplates::LatentHalf::rotate_backward(const std::int32_t* starts) const {
  cuda::latent_heads_backward(stream_, heads(templates_.all_tokens(), starts), layer_.tables,
                              at(templates_.space_.d_qkv),
                              {.query = at(space_.d_query),
                               .shared_key = at(space_.d_shared_key),
                               .key_value = at(space_.d_key_value)});
}

void CudaTemplates::LatentHalf::narrow_output() const {
  cuda::resize_heads(stream_, at(space_.output), templates_.tokens_ * layer_.shape.heads,
                     layer_.shape.head_dim, layer_.shape.latent->value,
                     bf16(record_.at(layer_.layout.attention)));
}

void CudaTemplates::LatentHalf::widen_output() const {
  const auto widen = [&](const std::uint16_t* from, Bytes to) {
    cuda::resize_heads(stream_, from, templates_.tokens_ * layer_.shape.heads,
                       layer_.shape.latent->value, layer_.shape.head_dim, at(to));
  };
  widen(recorded(layer_.layout.attention), space_.output);
  widen(at(templates_.space_.d_qkv), templates_.space_.d_attention);
}

void CudaTemplates::LatentHalf::projection_backward(const Gradient& to,
                                                    const Projection& projection,
                                                    const std::uint16_t* d, const std::uint16_t* x,
                                                    std::uint16_t* d_x) {
  const Slot& weight = projection.weight;
  const std::int64_t tokens = templates_.tokens_;
  const ResultGradient result{d, {tokens, weight.cols, weight.rows}, false};
  templates_.add_weight_gradient(stream_, result, x, weight, to.sum,
                                 to.into == cuda::Into::overwrite, workspace_);
  templates_.bias_gradient(stream_, projection.bias, d, tokens, weight.rows, to.sum, to.into,
                           workspace_);
  templates_.multiply_back(stream_, weights_, result, weight, d_x, workspace_);
}

const std::uint16_t* CudaTemplates::LatentHalf::narrow_backward(const Gradient& to,
                                                                const Narrow& narrow,
                                                                const Projection& wide,
                                                                const std::uint16_t* d) {
  std::uint16_t* d_normed = at(space_.d_normed);
  const std::uint16_t* normed = normalize_narrow(narrow, templates_.tokens_);
  projection_backward(to, wide, d, normed, d_normed);
  cuda::rms_norm_backward(
      stream_, narrow.x, weights_ + narrow.norm.offset, fp32(workspace_ + space_.rstd.count()),
      d_normed, templates_.tokens_, narrow.norm.cols,
      {.d_x = d_normed,
       .d_x_into = cuda::Into::overwrite,
       .d_weight = to.sum + narrow.norm.offset,
       .d_weight_into = to.into},
      workspace_ + templates_.space_.partials.count(), templates_.norm_factor());
  return d_normed;
}

void CudaTemplates::LatentHalf::backward(float* gradient, cuda::Into into,
                                         std::uint16_t* d_stream) {
  const BlockSlots& slots = layer_.slots;
  const planner::BlockRecord& layout = layer_.layout;
  const std::int64_t tokens = templates_.tokens_, hidden = templates_.hidden_;
  const Gradient to{gradient, into};
  const NormInput norm =
      norm_input(weights_, slots.norm_before_attention, bf16(record_.input), tokens);
  const std::uint16_t* normed = templates_.normalize(stream_, norm, workspace_);
  std::uint16_t* d_normed = at(templates_.space_.d_normed);
  if (slots.latent.query.weight.exists()) {
    const std::uint16_t* d = narrow_backward(
        to, {slots.latent.query_norm, recorded(layout.q_latent)}, slots.q, at(space_.d_query));
    projection_backward(to, slots.latent.query, d, normed, d_normed);
  } else {
    projection_backward(to, slots.q, at(space_.d_query), normed, d_normed);
  }
  std::uint16_t* part = at(templates_.space_.branch);
  const auto add = [&](const Projection& projection, const std::uint16_t* d) {
    projection_backward(to, projection, d, normed, part);
    cuda::join(stream_, d_normed, part, 1, tokens * hidden, d_normed);
  };
  add(slots.latent.key, narrow_backward(to, {slots.latent.key_norm, recorded(layout.kv_latent)},
                                        keys_and_values(slots), at(space_.d_key_value)));
  add(slots.latent.shared, at(space_.d_shared_key));
  templates_.add_norm_backward(stream_, norm, slots.norm_before_attention, gradient, into, d_stream,
                               workspace_);
}

}  // namespace sluice::engine
