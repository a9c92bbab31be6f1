#include "planner/costs/latent_work.hpp"

namespace sluice::planner {

std::vector<Gemm> latent_projections(const ModelShape& shape, std::int64_t tokens) {
  const LatentAttention& latent = *shape.latent;
  const std::int64_t query = shape.heads * shape.head_dim;
  std::vector<Gemm> products;
  if (latent.query_rank) {
    products.push_back({tokens, *latent.query_rank, shape.hidden});
    products.push_back({tokens, query, *latent.query_rank});
  } else {
    products.push_back({tokens, query, shape.hidden});
  }
  products.push_back({tokens, latent.rank, shape.hidden});
  products.push_back({tokens, latent.rotated, shape.hidden});
  products.push_back({tokens, shape.heads * latent.plain, latent.rank});
  products.push_back({tokens, shape.heads * latent.value, latent.rank});
  return products;
}

}  // namespace sluice::planner
