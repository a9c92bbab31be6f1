// Tensors of latent attention, and where they lie in checkpoints.
#include "planner/models/tensor_list.hpp"

namespace sluice::planner {
namespace {

/// Says of a tensor that it is `block` of every `step` rows, from `first` on, of the tensor `name`.
void place(TensorSpec& tensor, const std::string& name, std::int64_t first, std::int64_t block,
           std::int64_t step) {
  tensor.on_disk = DiskPlace{.name = name, .first = first, .block = block, .step = step};
}

void add_queries(TensorList& list, const ModelShape& shape, const std::string& own) {
  using enum TensorRole;
  const LatentAttention& latent = *shape.latent;
  const std::int64_t query = shape.heads * shape.head_dim;
  const PairedRows order{shape.head_dim, latent.rotated, latent.plain,
                         shape.rotary.front().interleaved};
  if (!latent.query_rank) {
    list.matrix(q, own + "q_proj.weight", query, shape.hidden).paired = order;
    return;
  }
  const std::string narrow = own + "q_a_proj.";
  list.matrix(q_latent, narrow + "weight", *latent.query_rank, shape.hidden);
  if (shape.qkv_bias) list.vector(q_latent_bias, narrow + "bias", *latent.query_rank);
  list.vector(q_latent_norm, own + "q_a_layernorm.weight", *latent.query_rank);
  list.matrix(q, own + "q_b_proj.weight", query, *latent.query_rank).paired = order;
}

/// Adds the narrow projection of keys and values and the shared key, which checkpoints have in one
/// tensor.
void add_narrow_keys(TensorList& list, const ModelShape& shape, const std::string& own) {
  using enum TensorRole;
  const LatentAttention& latent = *shape.latent;
  const std::string both = own + "kv_a_proj_with_mqa.";
  const auto turning = [&](TensorSpec& tensor, const std::string& name) {
    place(tensor, both + name, latent.rank, latent.rotated, latent.rotated);
    if (shape.rotary.front().interleaved) {
      tensor.paired = PairedRows{latent.rotated, latent.rotated};
    }
  };
  place(list.matrix(kv_latent, own + "kv_a_proj.weight", latent.rank, shape.hidden),
        both + "weight", 0, latent.rank, latent.rank);
  turning(list.matrix(shared_key, own + "k_rope_proj.weight", latent.rotated, shape.hidden),
          "weight");
  if (shape.qkv_bias) {
    place(list.vector(kv_latent_bias, own + "kv_a_proj.bias", latent.rank), both + "bias", 0,
          latent.rank, latent.rank);
    turning(list.vector(shared_key_bias, own + "k_rope_proj.bias", latent.rotated), "bias");
  }
  list.vector(kv_latent_norm, own + "kv_a_layernorm.weight", latent.rank);
}

}  // namespace

void add_latent_attention(TensorList& list, const ModelShape& shape, const std::string& prefix) {
  using enum TensorRole;
  const LatentAttention& latent = *shape.latent;
  const std::string own = prefix + "self_attn.";
  add_queries(list, shape, own);
  add_narrow_keys(list, shape, own);
  const std::string wide = own + "kv_b_proj.weight";
  const std::int64_t both = latent.plain + latent.value;
  place(list.matrix(k, own + "k_proj.weight", shape.heads * latent.plain, latent.rank), wide, 0,
        latent.plain, both);
  place(list.matrix(v, own + "v_proj.weight", shape.heads * latent.value, latent.rank), wide,
        latent.plain, latent.value, both);
  list.matrix(o, own + "o_proj.weight", shape.hidden, shape.heads * latent.value);
  if (shape.o_bias) list.vector(o_bias, own + "o_proj.bias", shape.hidden);
}

}  // namespace sluice::planner
