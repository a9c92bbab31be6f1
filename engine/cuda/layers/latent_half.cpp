// Latent attention's own part of a block's attention half: narrow projections with norms behind
// them, heads that are made of them and of a key that they share, and the way back. Attention itself
// has heads of one width: those of values are padded where they are narrower
// (docs/design/attention.md).
#include "engine/cuda/kernels/latent_heads.hpp"
#include "engine/cuda/kernels/residual.hpp"
#include "engine/cuda/layers/templates.hpp"
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

const std::uint16_t* CudaTemplates::normalize_narrow(cudaStream_t stream,
                                                     const std::uint16_t* weights,
                                                     const Narrow& narrow, std::int64_t tokens,
                                                     std::byte* workspace) const {
  std::uint16_t* normed = bf16(workspace + space_.latent.normed.count());
  cuda::rms_norm(stream, narrow.x, weights + narrow.norm.offset,
                 static_cast<float>(job_.model.latent->norm_eps), tokens, narrow.norm.cols, normed,
                 fp32(workspace + space_.latent.rstd.count()), norm_factor());
  return normed;
}

/// Projections of a token, and of their norms.
void CudaTemplates::project_latent(cudaStream_t stream, const std::uint16_t* weights,
                                   const CudaRecord& record, std::int64_t tokens,
                                   std::byte* workspace) {
  const CudaLayer& layer = layer_of(record);
  const BlockSlots& slots = layer.slots;
  const planner::BlockRecord& layout = layer.layout;
  const auto project = [&](const Projection& projection, const std::uint16_t* x, Bytes y) {
    multiply(stream, weights,
             {.size = {tokens, projection.weight.cols, projection.weight.rows},
              .x = x,
              .projection = projection,
              .addend = nullptr,
              .y = record.at(y),
              .fp8 = false},
             workspace);
  };
  const auto normed_again = [&](const Slot& norm, Bytes x) {
    return normalize_narrow(stream, weights, {norm, bf16(record.at(x))}, tokens, workspace);
  };
  const std::uint16_t* normed = normalize(
      stream, norm_input(weights, slots.norm_before_attention, bf16(record.input), tokens),
      workspace);
  project(slots.latent.key, normed, layout.kv_latent);
  project(slots.latent.shared, normed, layout.shared_key);
  if (slots.latent.query.weight.exists()) {
    project(slots.latent.query, normed, layout.q_latent);
    project(slots.q, normed_again(slots.latent.query_norm, layout.q_latent), layout.q);
  } else {
    project(slots.q, normed, layout.q);
  }
  // Rows [k v] take the places of both in the record.
  project(keys_and_values(slots), normed_again(slots.latent.key_norm, layout.kv_latent), layout.k);
}

cuda::LatentHeads CudaTemplates::latent_shape(const CudaLayer& layer, Span span,
                                              const std::int32_t* starts) const {
  const planner::LatentAttention& latent = *layer.shape.latent;
  return {.columns = {.heads = static_cast<int>(layer.shape.heads),
                      .plain = static_cast<int>(latent.plain),
                      .rotated = static_cast<int>(latent.rotated),
                      .value = static_cast<int>(latent.value)},
          .tokens = span.count,
          .first = span.first,
          .seq_len = job_.seq_len,
          .starts = starts};
}

void CudaTemplates::rotate_latent(cudaStream_t stream, const CudaRecord& record, Span span,
                                  const std::int32_t* starts, std::byte* rotated) const {
  const CudaLayer& layer = layer_of(record);
  cuda::latent_heads(stream, latent_shape(layer, span, starts), layer.tables,
                     {.query = bf16(record.at(layer.layout.q)),
                      .shared_key = bf16(record.at(layer.layout.shared_key)),
                      .key_value = bf16(record.at(layer.layout.k))},
                     bf16(rotated));
}

/// Leaves the gradients of projections in the place of rotated heads, which nothing reads any more.
void CudaTemplates::rotate_latent_backward(cudaStream_t stream, const CudaRecord& record,
                                           const std::int32_t* starts,
                                           std::byte* workspace) const {
  const CudaLayer& layer = layer_of(record);
  const planner::CudaLatentWorkspace& space = space_.latent;
  cuda::latent_heads_backward(stream, latent_shape(layer, all_tokens(), starts), layer.tables,
                              bf16(workspace + space_.d_qkv.count()),
                              {.query = bf16(workspace + space.d_query.count()),
                               .shared_key = bf16(workspace + space.d_shared_key.count()),
                               .key_value = bf16(workspace + space.d_key_value.count())});
}

const std::uint16_t* CudaTemplates::widened_output(cudaStream_t stream, const CudaRecord& record,
                                                   std::byte* workspace) const {
  const CudaLayer& layer = layer_of(record);
  const std::uint16_t* attention = bf16(record.at(layer.layout.attention));
  if (!layer.widens_values()) return attention;
  std::uint16_t* output = bf16(workspace + space_.latent.output.count());
  cuda::resize_heads(stream, attention, tokens_ * job_.model.heads, layer.shape.latent->value,
                     job_.model.head_dim, output);
  return output;
}

const std::uint16_t* CudaTemplates::widened_gradient(cudaStream_t stream, const CudaLayer& layer,
                                                     std::byte* workspace) const {
  std::uint16_t* d_attention = bf16(workspace + space_.d_attention.count());
  if (!layer.widens_values()) return d_attention;
  cuda::resize_heads(stream, bf16(d_output(layer, workspace)), tokens_ * job_.model.heads,
                     layer.shape.latent->value, job_.model.head_dim, d_attention);
  return d_attention;
}

void CudaTemplates::backward_projection(cudaStream_t stream, const std::uint16_t* weights,
                                        float* gradient, cuda::Into into,
                                        const Projection& projection, const std::uint16_t* d,
                                        const std::uint16_t* x, std::uint16_t* d_x,
                                        std::byte* workspace) {
  const Slot& weight = projection.weight;
  const ResultGradient result{d, {tokens_, weight.cols, weight.rows}, false};
  add_weight_gradient(stream, result, x, weight, gradient, into == cuda::Into::overwrite,
                      workspace);
  bias_gradient(stream, projection.bias, d, tokens_, weight.rows, gradient, into, workspace);
  multiply_back(stream, weights, result, weight, d_x, workspace);
}

const std::uint16_t* CudaTemplates::backward_narrow(cudaStream_t stream,
                                                    const std::uint16_t* weights, float* gradient,
                                                    cuda::Into into, const Narrow& narrow,
                                                    const Projection& wide, const std::uint16_t* d,
                                                    std::byte* workspace) {
  std::uint16_t* d_normed = bf16(workspace + space_.latent.d_normed.count());
  const std::uint16_t* normed = normalize_narrow(stream, weights, narrow, tokens_, workspace);
  backward_projection(stream, weights, gradient, into, wide, d, normed, d_normed, workspace);
  cuda::rms_norm_backward(stream, narrow.x, weights + narrow.norm.offset,
                          fp32(workspace + space_.latent.rstd.count()), d_normed, tokens_,
                          narrow.norm.cols,
                          {.d_x = d_normed,
                           .d_x_into = cuda::Into::overwrite,
                           .d_weight = gradient + narrow.norm.offset,
                           .d_weight_into = into},
                          workspace + space_.partials.count(), norm_factor());
  return d_normed;
}

/// All projections, from the gradients of heads in the workspace, and the norm before them.
void CudaTemplates::backward_latent(cudaStream_t stream, const std::uint16_t* weights,
                                    float* gradient, cuda::Into into, const CudaRecord& record,
                                    std::uint16_t* d_stream, std::byte* workspace) {
  const CudaLayer& layer = layer_of(record);
  const BlockSlots& slots = layer.slots;
  const auto narrow = [&](const Slot& norm, Bytes x, const Projection& wide, Bytes d) {
    return backward_narrow(stream, weights, gradient, into, {norm, bf16(record.at(x))}, wide,
                           bf16(workspace + d.count()), workspace);
  };
  const NormInput norm =
      norm_input(weights, slots.norm_before_attention, bf16(record.input), tokens_);
  const std::uint16_t* normed = normalize(stream, norm, workspace);
  std::uint16_t* d_normed = bf16(workspace + space_.d_normed.count());
  std::uint16_t* part = bf16(workspace + space_.branch.count());
  const auto add = [&](const Projection& projection, const std::uint16_t* d) {
    backward_projection(stream, weights, gradient, into, projection, d, normed, part, workspace);
    cuda::join(stream, d_normed, part, 1, tokens_ * hidden_, d_normed);
  };
  if (slots.latent.query.weight.exists()) {
    const std::uint16_t* d =
        narrow(slots.latent.query_norm, layer.layout.q_latent, slots.q, space_.latent.d_query);
    backward_projection(stream, weights, gradient, into, slots.latent.query, d, normed, d_normed,
                        workspace);
  } else {
    backward_projection(stream, weights, gradient, into, slots.q,
                        bf16(workspace + space_.latent.d_query.count()), normed, d_normed,
                        workspace);
  }
  add(slots.latent.key, narrow(slots.latent.key_norm, layer.layout.kv_latent,
                               keys_and_values(slots), space_.latent.d_key_value));
  add(slots.latent.shared, bf16(workspace + space_.latent.d_shared_key.count()));
  add_norm_backward(stream, norm, slots.norm_before_attention, gradient, into, d_stream, workspace);
}

}  // namespace sluice::engine
