// Rotary position embedding (Su et al. 2021, equation 34, in the half-split order of transformers'
// rotate_half), with the per-head RMSNorm of q and k that some models apply before it. The rules of
// engine/cuda/kernels/norm.hpp hold.
#pragma once

#include <cstdint>

#include "engine/cuda/kernels/into.hpp"
#include "sim/units.hpp"

struct CUstream_st;

namespace sluice::engine::cuda {

struct RopeShape {
  std::int64_t tokens = 0;
  std::int64_t seq_len = 0;  ///< Token t is at position t mod seq_len.
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  /// Size of a head: a multiple of 16; with q and k norms 16, 32, 64, 128, 256 or 512.
  std::int64_t head_dim = 0;
  /// First position of each token's document, int32 [tokens], from which the token's position
  /// counts; null if sequences hold no documents.
  const std::int32_t* starts = nullptr;
};

/// Tables of cos and sin, fp32 [seq_len, head_dim / 2] each.
struct RopeTables {
  const float* cos = nullptr;
  const float* sin = nullptr;
};

/// Weights of the q and k norms, bf16 [head_dim]; both null for models without them.
struct HeadNorms {
  const std::uint16_t* q = nullptr;
  const std::uint16_t* k = nullptr;
  float eps = 0;
};

/// bf16 q and k of all tokens. Head j of token t begins at t * stride + j * head_dim; strides are
/// multiples of 8. In packed rows [q k v], k = q + heads * head_dim and both strides are (heads + 2
/// kv_heads) * head_dim.
struct QueryKey {
  std::uint16_t* q = nullptr;
  std::uint16_t* k = nullptr;
  std::int64_t q_stride = 0;
  std::int64_t k_stride = 0;
};
/// Read-only q and k of all tokens, laid out as in QueryKey.
struct ConstQueryKey {
  const std::uint16_t* q = nullptr;
  const std::uint16_t* k = nullptr;
  std::int64_t q_stride = 0;
  std::int64_t k_stride = 0;
  ConstQueryKey() = default;
  ConstQueryKey(const std::uint16_t* q, const std::uint16_t* k, std::int64_t q_stride,
                std::int64_t k_stride)
      : q(q), k(k), q_stride(q_stride), k_stride(k_stride) {}
  // NOLINTNEXTLINE(google-explicit-constructor): a view may lose its right to write.
  ConstQueryKey(const QueryKey& view)
      : q(view.q), k(view.k), q_stride(view.q_stride), k_stride(view.k_stride) {}
};

/// Reciprocal RMS of each head, fp32: q [tokens, heads], k [tokens, kv_heads]. Null without norms,
/// and optionally with norms if nobody reads them.
struct HeadScales {
  float* q = nullptr;
  float* k = nullptr;
};

/// `rotated` = rotation of norm(`projected`), or of `projected` itself without norms; the normed
/// value is rounded to bf16 before the rotation. `rotated` may be `projected` (in place), but the
/// backward pass of norms needs `projected`.
void rope_forward(CUstream_st* stream, const RopeShape& shape, const RopeTables& tables,
                  const HeadNorms& norms, const ConstQueryKey& projected, const QueryKey& rotated,
                  const HeadScales& scales);

/// Operands of the backward pass of the q and k norms; all null without norms.
struct HeadNormGradients {
  ConstQueryKey projected;    ///< Input of rope_forward.
  HeadScales scales;          ///< Reciprocal RMS values that rope_forward wrote.
  float* d_q_norm = nullptr;  ///< Gradient of the q norm's weight, fp32 [head_dim].
  float* d_k_norm = nullptr;  ///< Gradient of the k norm's weight, fp32 [head_dim].
  Into into = Into::accumulate;
  void* workspace = nullptr;  ///< Scratch of rope_backward_workspace(shape) bytes.
};

/// Turns `gradient` from the gradient of rotated q and k into that of projected q and k, in place.
/// The norm weights' gradients are summed over tokens and heads in a fixed order.
void rope_backward(CUstream_st* stream, const RopeShape& shape, const RopeTables& tables,
                   const HeadNorms& norms, const HeadNormGradients& norm_gradients,
                   const QueryKey& gradient);
[[nodiscard]] Bytes rope_backward_workspace(const RopeShape& shape);

}  // namespace sluice::engine::cuda
