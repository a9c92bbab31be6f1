// Routing of tokens to experts, decided and numbered on the device without asking the host. The
// rules of engine/cuda/kernels/norm.hpp hold; docs/design/moe.md has the equations.
#pragma once

#include <cstdint>

#include "planner/models/block.hpp"
#include "planner/models/experts.hpp"

struct CUstream_st;

namespace sluice::engine::cuda {

inline constexpr std::int64_t kMostExperts = 512;
inline constexpr std::int64_t kMostActive = 32;
inline constexpr std::int64_t kMostGroups = 32;

/// Sizes of a routing of tokens to experts. In the comments of this header T = `tokens`, E =
/// `experts` (at most kMostExperts), and k = `active`, the number of experts of a token (at most
/// kMostActive). A route is a pair of a token and one of its experts; the R = k T routes are rows
/// ordered by expert and, within an expert, by token.
struct RouteShape {
  std::int64_t tokens = 0, experts = 0, active = 0;
  /// Whether the shares of a token's experts in its result are scaled to add up to 1.
  bool normalized = true;
  planner::RouterScore score = planner::RouterScore::softmax;
  /// Equal groups of experts, at most kMostGroups, and those that a token may choose from.
  std::int64_t groups = 1, active_groups = 1;
  planner::GroupScore group_score = planner::GroupScore::two_best;
  float scaling = 1;  ///< Factor of shares.
  /// Biases of the choice of experts, bf16 [E], which are no part of shares; null for none.
  const std::uint16_t* correction = nullptr;
};

struct RouteArrays {
  /// int32 [tokens, active]: experts of each token, in ascending order.
  std::int32_t* expert = nullptr;
  /// int32 [tokens, active]: row of the route to each of those experts.
  std::int32_t* row = nullptr;
  /// int32 [routes]: token of each row; routes = tokens * active.
  std::int32_t* token = nullptr;
  float* share = nullptr;  ///< fp32 [routes]: weight of each row in its token's sum over experts.
  /// fp32 [routes]: gradient of each row's share; before, scratch of `route`.
  float* d_share = nullptr;
  /// int32 [experts + 1]: first row of each expert, and at the end the number of rows.
  std::int32_t* begin = nullptr;
  /// int32 [route_tiles, 2]: for each tile of at most kExpertTile rows of one expert, that expert
  /// and the tile's first row; expert -1 after the last tile.
  std::int32_t* tiles = nullptr;
  /// Scratch of `route`, [kRouteChunks, experts] elements of 4 bytes.
  std::int32_t* counts = nullptr;
};

/// Routes tokens to experts by `logits`, fp32 [T, E]: computes scores, each token's k experts of
/// largest scores (the first among equals), of their sums with `correction` where there is one, and
/// all of RouteArrays except d_share. The experts of a token are k different ones whatever the
/// logits are.
void route(CUstream_st* stream, const float* logits, const RouteShape& shape,
           const RouteArrays& routes);

/// Adds a block's routes of a micro-batch to the sums over blocks of which the load-balancing loss
/// is made, fp32 [2, E]: after[0, e] = before[0, e] + the number of routes to expert e, after[1, e]
/// = before[1, e] + the expert's probability summed over tokens in a fixed order. Must follow
/// `route` of the same logits, whose scratch it uses.
void add_balance(CUstream_st* stream, const float* logits, const RouteShape& shape,
                 const RouteArrays& routes, const float* before, float* after);

/// Load-balancing loss: *loss = scale * sum over experts of the product of the two sums in
/// `carried` (fp32 [2, experts], as add_balance writes them), in double and in a fixed order.
/// `loss` may be mapped host memory.
void balance_loss(CUstream_st* stream, const float* carried, std::int64_t experts, double scale,
                  double* loss);

/// Backward pass of `route`: computes d_logits, the gradient of the logits, bf16 [T,
/// router_row(E)], from RouteArrays::d_share. balance * counts[e], the gradient of the
/// load-balancing loss, is added to the gradient of every probability of expert e; `counts`, fp32
/// [E], numbers of routes, is read only if balance is not 0. The padding of a row gets zeros.
void route_backward(CUstream_st* stream, const float* logits, const RouteShape& shape,
                    const RouteArrays& routes, float balance, const float* counts,
                    std::uint16_t* d_logits);

/// Rows that combining adds to each token beside those of its routes.
struct CombinedWith {
  const std::uint16_t* base = nullptr;  ///< bf16 [T, width].
  /// Result of an expert that all tokens pass through, bf16 [T, width]; null for none.
  const std::uint16_t* shared = nullptr;
  float factor = 1;  ///< Factor of the sum over experts.
};

/// Adds the experts' results to each token: out[t] = base[t] + factor (sum over a token's routes of
/// rows[row] + shared[t]), with out bf16 [T, width], rows bf16 [R, width], width a multiple of 8.
/// Sums are in fp32 from the lowest expert on, rounded once. `out` may be `base`.
void combine_rows(CUstream_st* stream, const std::uint16_t* rows, const RouteShape& shape,
                  const RouteArrays& routes, const CombinedWith& with, std::int64_t width,
                  std::uint16_t* out);

/// Activation of each route (row r) times its share: activation[r] = share[r] a(gate[r], up[r])
/// (planner::Activation with a gate), from packed rows [gate up], bf16 [R, 2 width], to bf16 [R,
/// width]; rounded both before and after the multiplication by the share. width is a multiple of 8.
void weighted_activation(CUstream_st* stream, planner::Activation function,
                         const std::uint16_t* gate_up, const float* share, std::int64_t rows,
                         std::int64_t width, std::uint16_t* activation);

/// Backward pass of weighted_activation. With d = d_activation[r], the gradient of its result:
/// d_share[r] = sum over the row of d a(gate, up); d_gate_up (packed) is what activate_backward
/// makes of share[r] d. Then d_activation is overwritten with weighted_activation's result, with
/// the same bits as in the forward pass.
void weighted_activation_backward(CUstream_st* stream, planner::Activation function,
                                  const std::uint16_t* gate_up, const float* share,
                                  std::int64_t rows, std::int64_t width,
                                  std::uint16_t* d_activation, std::uint16_t* d_gate_up,
                                  float* d_share);

}  // namespace sluice::engine::cuda
