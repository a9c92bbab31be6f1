#include "planner/costs/latent_work.hpp"

namespace sluice::planner {
namespace {

/// Elements of a token's projections that heads are made of, and of those with norms behind them.
struct LatentWidths {
  std::int64_t query, heads, narrow, output;
  explicit LatentWidths(const ModelShape& shape)
      : query(shape.heads * shape.head_dim),
        heads(query + shape.latent->rotated +
              shape.heads * (shape.latent->plain + shape.latent->value)),
        narrow(shape.latent->query_rank.value_or(0) + shape.latent->rank),
        output(shape.heads * shape.latent->value) {}
  /// Elements read and written where outputs, or their gradients, change their width.
  [[nodiscard]] std::int64_t resized() const { return output < query ? query + output : 0; }
};

}  // namespace

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

std::int64_t latent_elements(const ModelShape& shape) {
  const LatentWidths widths(shape);
  return 2 * widths.narrow + widths.heads + 3 * widths.query + widths.resized();
}

std::int64_t latent_backward_elements(const ModelShape& shape) {
  const LatentWidths widths(shape);
  // Heads again and back; norms again and back; sums of three gradients of the token's norm.
  return 2 * (widths.heads + 3 * widths.query) + 5 * widths.narrow + 2 * widths.resized() +
         6 * shape.hidden;
}

}  // namespace sluice::planner
