// Tensors of latent attention.
#include "planner/models/tensor_list.hpp"

namespace sluice::planner {

void add_latent_attention(TensorList& list, const ModelShape& shape, const std::string& prefix) {
  using enum TensorRole;
  const LatentAttention& latent = *shape.latent;
  const std::string own = prefix + "self_attn.";
  const std::int64_t query = shape.heads * shape.head_dim;
  const auto bias = [&](TensorRole role, const char* name, std::int64_t size) {
    if (shape.qkv_bias) list.vector(role, own + name, size);
  };
  if (latent.query_rank) {
    list.matrix(q_latent, own + "q_a_proj.weight", *latent.query_rank, shape.hidden);
    bias(q_bias, "q_a_proj.bias", *latent.query_rank);
    list.vector(q_latent_norm, own + "q_a_layernorm.weight", *latent.query_rank);
    list.matrix(q, own + "q_b_proj.weight", query, *latent.query_rank);
  } else {
    list.matrix(q, own + "q_proj.weight", query, shape.hidden);
  }
  const std::int64_t narrow = latent.rank + latent.rotated;
  list.matrix(kv_latent, own + "kv_a_proj_with_mqa.weight", narrow, shape.hidden);
  bias(k_bias, "kv_a_proj_with_mqa.bias", narrow);
  list.vector(kv_latent_norm, own + "kv_a_layernorm.weight", latent.rank);
  list.matrix(kv_expansion, own + "kv_b_proj.weight", shape.heads * (latent.plain + latent.value),
              latent.rank);
  list.matrix(o, own + "o_proj.weight", shape.hidden, shape.heads * latent.value);
  if (shape.o_bias) list.vector(o_bias, own + "o_proj.bias", shape.hidden);
}

}  // namespace sluice::planner
