// Queries, keys and values of latent attention on their way into attention: heads are put together
// from their projections, the shared part of keys once for every head, and padded to one width. The
// rules of engine/cuda/kernels/norm.hpp hold.
#pragma once

#include <cstdint>

#include "engine/cuda/kernels/rope.hpp"
#include "planner/scratch/latent_columns.hpp"

struct CUstream_st;

namespace sluice::engine::cuda {

struct LatentHeads {
  /// `rotated` is a multiple of 16, `plain` and `value` are multiples of 8.
  planner::LatentColumns columns;
  std::int64_t tokens = 0;
  std::int64_t first = 0;  ///< Position of the first token in its sequence.
  /// Number of tokens of a sequence: token t is at position (first + t) mod seq_len of its own.
  std::int64_t seq_len = 0;
  /// Position of the first token of each token's document, int32 [tokens]; null without documents.
  const std::int32_t* starts = nullptr;
};

/// Projections of all tokens, bf16, in rows as planner::LatentColumns says.
struct LatentProjections {
  const std::uint16_t* query = nullptr;
  const std::uint16_t* shared_key = nullptr;
  const std::uint16_t* key_value = nullptr;
};

/// Gradients of the projections, laid out likewise.
struct LatentGradients {
  std::uint16_t* query = nullptr;
  std::uint16_t* shared_key = nullptr;
  std::uint16_t* key_value = nullptr;
};

/// Writes rows [q k v], bf16 [tokens, columns.row()], turned and padded with zeros. `tables` are
/// fp32 [seq_len, rotated / 2].
void latent_heads(CUstream_st* stream, const LatentHeads& shape, const RopeTables& tables,
                  const LatentProjections& from, std::uint16_t* rows);

/// Backward pass of latent_heads, from the gradients of rows. That of the shared key is the sum
/// over heads from the first on, in fp32.
void latent_heads_backward(CUstream_st* stream, const LatentHeads& shape, const RopeTables& tables,
                           const std::uint16_t* d_rows, const LatentGradients& to);

/// Copies `heads` heads of `width` elements to heads of `to_width`, which end with zeros or leave
/// elements out. Widths are multiples of 8.
void resize_heads(CUstream_st* stream, const std::uint16_t* from, std::int64_t heads,
                  std::int64_t width, std::int64_t to_width, std::uint16_t* to);

}  // namespace sluice::engine::cuda
