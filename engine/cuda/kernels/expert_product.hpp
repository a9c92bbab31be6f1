// Matrix products of experts with the rows of their tokens, in one launch for all of them: how many
// rows an expert has is read on the device. bf16 operands, fp32 accumulation in one sequence of
// sums. The rules of engine/cuda/kernels/norm.hpp hold; docs/design/moe.md says why these are our
// own.
#pragma once

#include <cstdint>

#include "engine/cuda/kernels/into.hpp"

struct CUstream_st;

namespace sluice::engine::cuda {

/// bf16 rows `stride` elements apart: row r lies at index[r], or at r where `index` is null.
struct IndexedRows {
  const std::uint16_t* data = nullptr;
  const std::int32_t* index = nullptr;
  std::int64_t stride = 0;
};

/// Groups of rows as `route` numbers them; of one group, `begin` and `tiles` are null.
struct RowGroups {
  const std::int32_t* begin = nullptr;  ///< [groups + 1]
  const std::int32_t* tiles = nullptr;  ///< [route_tiles(rows, groups)] pairs.
  std::int64_t groups = 1;
  std::int64_t rows = 0;  ///< Of all groups.
};

/// Matrices of the groups, `stride` elements apart, row-major without gaps.
template <class T>
struct GroupMatrices {
  T* data = nullptr;
  std::int64_t stride = 0;
};

/// y[r] = x[r] W_g' for every row r of group g: W_g bf16 [out, in], y [rows, out] without gaps,
/// bf16 or fp32. in is a multiple of 8, and so is out where y is bf16.
void multiply_rows(CUstream_st* stream, const IndexedRows& x, const RowGroups& groups,
                   const GroupMatrices<const std::uint16_t>& weights, std::int64_t in,
                   std::int64_t out, std::uint16_t* y);
void multiply_rows(CUstream_st* stream, const IndexedRows& x, const RowGroups& groups,
                   const GroupMatrices<const std::uint16_t>& weights, std::int64_t in,
                   std::int64_t out, float* y);

/// d_x[r] = d_y[r] W_g: bf16 [rows, in]. in and the stride of d_y are multiples of 8; where out is
/// none, rows of d_y go on with zeros.
void multiply_rows_transposed(CUstream_st* stream, const IndexedRows& d_y, const RowGroups& groups,
                              const GroupMatrices<const std::uint16_t>& weights, std::int64_t in,
                              std::int64_t out, std::uint16_t* d_x);

/// d_W_g (+)= sum over rows r of g of d_y[r]' x[r]: fp32 [out, in]; of a group without rows, zeros
/// or what was there. in and the strides of d_y and x are multiples of 8.
void accumulate_rows(CUstream_st* stream, const IndexedRows& d_y, const IndexedRows& x,
                     const RowGroups& groups, const GroupMatrices<float>& gradients,
                     std::int64_t in, std::int64_t out, Into into);

}  // namespace sluice::engine::cuda
