// Matrix products of experts with the rows of their tokens, in one launch for all experts; the
// number of rows of each is read on the device. bf16 operands, fp32 accumulation in one sequence of
// sums. The rules of engine/cuda/kernels/norm.hpp hold; docs/design/moe.md says why these kernels
// are our own.
#pragma once

#include <cstdint>

#include "engine/cuda/kernels/into.hpp"

struct CUstream_st;

namespace sluice::engine::cuda {

/// Rows of a bf16 matrix in any order: row r begins at element index[r] * stride, or r * stride if
/// `index` is null.
struct IndexedRows {
  const std::uint16_t* data = nullptr;
  const std::int32_t* index = nullptr;
  std::int64_t stride = 0;
};

/// Rows in groups that follow each other: the tokens of one expert each, as `route`
/// (engine/cuda/kernels/routes.hpp) numbers them in RouteArrays. For a single group of all rows,
/// `begin` and `tiles` are null.
struct RowGroups {
  /// First row of each group, and at the end the number of rows: [groups + 1].
  const std::int32_t* begin = nullptr;
  /// Division of the groups into tiles of kExpertTile rows, [route_tiles(rows, groups)] pairs: the
  /// tile's group and its first row; group -1 after the last tile.
  const std::int32_t* tiles = nullptr;
  std::int64_t groups = 1;
  std::int64_t rows = 0;  ///< Number of rows of all groups.
};

/// One matrix for each group of rows, row-major without gaps; they begin `stride` elements apart.
template <class T>
struct GroupMatrices {
  T* data = nullptr;
  std::int64_t stride = 0;
};

/// Biases b_g of the groups' products, bf16 [out] each; they begin `stride` elements apart.
struct GroupBiases {
  const std::uint16_t* data = nullptr;  ///< Null for none.
  std::int64_t stride = 0;
  const float* factor = nullptr;  ///< Factor f of each row's bias, fp32 [rows]; null for 1.
};

/// Forward products of experts, y[r] = x[r] W_g^T + f[r] b_g for every row r of group g: W_g bf16
/// [out, in], y [rows, out] without gaps, bf16 or fp32. in is a multiple of 8, and so is out if y
/// is bf16.
void multiply_rows(CUstream_st* stream, const IndexedRows& x, const RowGroups& groups,
                   const GroupMatrices<const std::uint16_t>& weights, std::int64_t in,
                   std::int64_t out, std::uint16_t* y, const GroupBiases& biases = {});
void multiply_rows(CUstream_st* stream, const IndexedRows& x, const RowGroups& groups,
                   const GroupMatrices<const std::uint16_t>& weights, std::int64_t in,
                   std::int64_t out, float* y, const GroupBiases& biases = {});

/// Gradients of the experts' inputs, d_x[r] = d_y[r] W_g for every row r of group g: d_x bf16
/// [rows, in]. in and the stride of d_y are multiples of 8; if out is not, rows of d_y are padded
/// with zeros.
void multiply_rows_transposed(CUstream_st* stream, const IndexedRows& d_y, const RowGroups& groups,
                              const GroupMatrices<const std::uint16_t>& weights, std::int64_t in,
                              std::int64_t out, std::uint16_t* d_x);

/// Gradients of the experts' weights: d_W_g = or += (as `into` says) the sum over rows r of group g
/// of d_y[r]^T x[r], fp32 [out, in]. A group without rows adds nothing (overwrite: becomes zero).
/// in and the strides of d_y and x are multiples of 8.
void accumulate_rows(CUstream_st* stream, const IndexedRows& d_y, const IndexedRows& x,
                     const RowGroups& groups, const GroupMatrices<float>& gradients,
                     std::int64_t in, std::int64_t out, Into into);

}  // namespace sluice::engine::cuda
