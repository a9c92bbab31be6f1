// Routing of tokens to experts, decided and numbered on the device without asking the host. The
// rules of engine/cuda/kernels/norm.hpp hold; docs/design/moe.md has the equations.
#pragma once

#include <cstdint>

struct CUstream_st;

namespace sluice::engine::cuda {

inline constexpr std::int64_t kMostExperts = 512;
inline constexpr std::int64_t kMostActive = 32;

/// Sizes of a routing of tokens to experts, with the letters used below: T = `tokens`, E =
/// `experts` up to kMostExperts, k = `active` up to kMostActive; R = k T routes are rows ordered by
/// expert and, within an expert, by token.
struct RouteShape {
  std::int64_t tokens = 0, experts = 0, active = 0;
  bool normalized = true;  ///< Whether the shares of a token add up to 1.
};

struct RouteArrays {
  /// int32 [tokens, active]: each token's experts in ascending order.
  std::int32_t* expert = nullptr;
  std::int32_t* row = nullptr;  ///< int32 [tokens, active]: the row of each of those routes.
  /// int32 [routes]: the token of each row; routes = tokens * active.
  std::int32_t* token = nullptr;
  float* share = nullptr;    ///< fp32 [routes]: each row's weight in its token's sum.
  float* d_share = nullptr;  ///< fp32 [routes]: gradient of each share; scratch of `route`.
  /// int32 [experts + 1]: first row of each expert, then the number of rows.
  std::int32_t* begin = nullptr;
  /// int32 [route_tiles, 2]: for each tile of at most kExpertTile rows of one expert, that expert
  /// and the tile's first row; expert -1 after the last tile.
  std::int32_t* tiles = nullptr;
  std::int32_t* counts = nullptr;  ///< Scratch, [kRouteChunks, experts] elements of 4 bytes.
};

/// Routes tokens by `logits`, fp32 [T, E]: computes the softmax, each token's k experts of largest
/// logits (the first among equals), and all of RouteArrays except d_share. A token's experts differ
/// whatever the logits are.
void route(CUstream_st* stream, const float* logits, const RouteShape& shape,
           const RouteArrays& routes);

/// Adds a micro-batch to the sums that blocks pass on for load balancing, fp32 [2, E]: after =
/// before + the number of routes to each expert, and + the expert's probability summed over tokens
/// in a fixed order. Must follow `route` of the same logits, whose scratch it uses.
void add_balance(CUstream_st* stream, const float* logits, const RouteShape& shape,
                 const RouteArrays& routes, const float* before, float* after);

/// *loss = scale * sum over experts of the product of the two sums in `carried` (fp32 [2, experts],
/// as add_balance writes them), in double and in a fixed order. `loss` may be mapped host memory.
void balance_loss(CUstream_st* stream, const float* carried, std::int64_t experts, double scale,
                  double* loss);

/// Computes d_logits, bf16 [T, router_row(E)], from d_share, with balance * counts[e] added to the
/// gradient of every probability of expert e, and zeros in the padding; `counts`, fp32 [E], is read
/// only if balance is not 0.
void route_backward(CUstream_st* stream, const float* logits, const RouteShape& shape,
                    const RouteArrays& routes, float balance, const float* counts,
                    std::uint16_t* d_logits);

/// out[t] = base[t] + sum over a token's routes of rows[row]: bf16 [T, width], rows bf16 [R,
/// width], width a multiple of 8. Sums are in fp32 from the lowest expert on, rounded once. `out`
/// may be `base`.
void combine_rows(CUstream_st* stream, const std::uint16_t* rows, const RouteShape& shape,
                  const RouteArrays& routes, const std::uint16_t* base, std::int64_t width,
                  std::uint16_t* out);

/// activation[r] = share[r] silu(gate[r]) up[r]: packed rows [gate up] bf16 [R, 2 width] to bf16
/// [R, width], rounded both before and after the multiplication by the share; width a multiple of
/// 8.
void weighted_swiglu(CUstream_st* stream, const std::uint16_t* gate_up, const float* share,
                     std::int64_t rows, std::int64_t width, std::uint16_t* activation);

/// Backward pass of weighted_swiglu with d = d_activation[r]: d_share[r] = sum of d silu(gate) up;
/// packed d_gate_up is computed from share[r] d as in swiglu_backward; d_activation is overwritten
/// with the activation, bit for bit.
void weighted_swiglu_backward(CUstream_st* stream, const std::uint16_t* gate_up, const float* share,
                              std::int64_t rows, std::int64_t width, std::uint16_t* d_activation,
                              std::uint16_t* d_gate_up, float* d_share);

}  // namespace sluice::engine::cuda
