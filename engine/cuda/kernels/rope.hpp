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
  /// Number of tokens of a sequence: token t is at position t mod seq_len of its own.
  std::int64_t seq_len = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  /// Number of elements of a head: a multiple of 16; with norms of q and k one of 16, 32, 64, 128,
  /// 256, 512.
  std::int64_t head_dim = 0;
  /// Position of the first token of each token's document, int32 [tokens], from which the token's
  /// position counts; null if sequences hold no documents.
  const std::int32_t* starts = nullptr;
};

/// Cosines and sines of the rotation's angles, by position and pair of elements: fp32 [seq_len,
/// head_dim / 2] each.
struct RopeTables {
  const float* cos = nullptr;
  const float* sin = nullptr;
};

/// Weights of the RMSNorms that some models apply to each head of q and of k before the rotation,
/// bf16 [head_dim]; both null for other models.
struct HeadNorms {
  const std::uint16_t* q = nullptr;
  const std::uint16_t* k = nullptr;
  float eps = 0;
};

/// Queries and keys of all tokens, bf16. Head j of token t begins at t * stride + j * head_dim;
/// strides are multiples of 8. In packed rows [q k v], k = q + heads * head_dim and both strides
/// are (heads + 2 kv_heads) * head_dim.
struct QueryKey {
  std::uint16_t* q = nullptr;
  std::uint16_t* k = nullptr;
  std::int64_t q_stride = 0;
  std::int64_t k_stride = 0;
};
/// Queries and keys of all tokens that are only read, laid out as in QueryKey.
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

/// Reciprocal root mean square of each head, which its norm multiplies by, fp32: q [tokens, heads],
/// k [tokens, kv_heads]. Null in models without these norms, and where nobody reads them.
struct HeadScales {
  float* q = nullptr;
  float* k = nullptr;
};

/// Rotary position embedding of queries and keys: `rotated` = rotation of norm(`projected`), or of
/// `projected` itself without norms; the normed value is rounded to bf16 before the rotation.
/// `rotated` may be `projected` (in place), but the backward pass of norms needs `projected`.
/// Norms' reciprocal RMS go to `scales`, unless null.
void rope_forward(CUstream_st* stream, const RopeShape& shape, const RopeTables& tables,
                  const HeadNorms& norms, const ConstQueryKey& projected, const QueryKey& rotated,
                  const HeadScales& scales);

/// What the backward pass of the norms of q and k reads and writes; all null in models without
/// them.
struct HeadNormGradients {
  ConstQueryKey projected;    ///< Queries and keys that rope_forward read.
  HeadScales scales;          ///< Reciprocal RMS values that rope_forward wrote.
  float* d_q_norm = nullptr;  ///< Gradient of the q norm's weight, fp32 [head_dim].
  float* d_k_norm = nullptr;  ///< Gradient of the k norm's weight, fp32 [head_dim].
  Into into = Into::accumulate;
  void* workspace = nullptr;  ///< Scratch of rope_backward_workspace(shape) bytes.
};

/// Backward pass of rope_forward: turns `gradient` from the gradient of rotated q and k into that
/// of projected q and k, in place. The gradients of the norms' weights are summed over tokens and
/// heads in a fixed order.
void rope_backward(CUstream_st* stream, const RopeShape& shape, const RopeTables& tables,
                   const HeadNorms& norms, const HeadNormGradients& norm_gradients,
                   const QueryKey& gradient);
[[nodiscard]] Bytes rope_backward_workspace(const RopeShape& shape);

}  // namespace sluice::engine::cuda
